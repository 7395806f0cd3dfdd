#include "stage.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace oneread::inline ONEREAD_DRIVERS {

namespace {

template <class T>
T byteswap(T v) {
  if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(__builtin_bswap16(std::bit_cast<uint16_t>(v)));
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(__builtin_bswap32(std::bit_cast<uint32_t>(v)));
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(__builtin_bswap64(std::bit_cast<uint64_t>(v)));
  return v;
}

template <class T>
T load(const char* p, bool swapped) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return swapped ? byteswap(v) : v;
}

// Copy strided elements of type T, converted to D, to `out`.
template <class T, class D>
void pick(const char* p, ptrdiff_t stride, size_t n, bool swapped, D* out) {
  count_strided_loads<T>(p, stride, n);
  count_stores(out, n);
  if (swapped)
    for (size_t i = 0; i < n; i++, p += stride) out[i] = (D)load<T>(p, true);
  else
    for (size_t i = 0; i < n; i++, p += stride) out[i] = (D)load<T>(p, false);
}

template <class D>
void pick(DType t, const char* p, ptrdiff_t stride, size_t n, bool swapped, D* out) {
  switch (t) {
    case DType::boolean:  // any byte but 0 is true
      count_strided_loads<bool>(p, stride, n);
      count_stores(out, n);
      for (size_t i = 0; i < n; i++, p += stride) out[i] = *p != 0;
      return;
    case DType::u8:
      return pick<uint8_t>(p, stride, n, false, out);
    case DType::i8:
      return pick<int8_t>(p, stride, n, false, out);
    case DType::i16:
      return pick<int16_t>(p, stride, n, swapped, out);
    case DType::u16:
      return pick<uint16_t>(p, stride, n, swapped, out);
    case DType::i32:
      return pick<int32_t>(p, stride, n, swapped, out);
    case DType::u32:
      return pick<uint32_t>(p, stride, n, swapped, out);
    case DType::i64:
      return pick<int64_t>(p, stride, n, swapped, out);
    case DType::u64:
      return pick<uint64_t>(p, stride, n, swapped, out);
    case DType::f32:
      return pick<float>(p, stride, n, swapped, out);
    case DType::f64:
      return pick<double>(p, stride, n, swapped, out);
    case DType::f16:
    case DType::bf16:
      break;  // through Kernels::widen
  }
}

template <class T>
void put(char* p, ptrdiff_t stride, size_t n, bool swapped, const T* in) {
  count_loads(in, n);
  count_strided_stores<T>(p, stride, n);
  for (size_t i = 0; i < n; i++, p += stride) {
    T v = swapped ? byteswap(in[i]) : in[i];
    std::memcpy(p, &v, sizeof v);
  }
}

// A double as the float that rounds to 16 bits as the double itself would: cut off, with the last
// bit set if anything was.
float to_odd(double v) {
  auto near = (float)v;
  if ((double)near == v || v != v) return near;
  auto bits = std::bit_cast<uint32_t>(near);
  if (std::fabs((double)near) > std::fabs(v)) bits--;
  return std::bit_cast<float>(bits | 1);
}

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

}  // namespace

ptrdiff_t Columns::offset(size_t column) const {
  ptrdiff_t sum = 0;
  for (size_t a = inner->size(); a-- > 0;) {
    sum += (ptrdiff_t)(column % (*inner)[a].size) * ((*inner)[a].*step);
    column /= (*inner)[a].size;
  }
  return sum;
}

template <class Run>
void Columns::runs(size_t first, size_t n, Run run) const {
  if (inner->empty()) return run((size_t)0, (ptrdiff_t)0, (ptrdiff_t)0, n);
  const Axis& last = inner->back();
  for (size_t done = 0; done < n;) {
    size_t column = first + done, length = std::min(n - done, last.size - column % last.size);
    run(done, offset(column), last.*step, length);
    done += length;
  }
}

template <class C>
void gather(const Columns& columns, const char* row, size_t first, size_t n, C* out, void* room,
            const Kernels& narrow_element) {
  columns.runs(first, n, [&](size_t at, ptrdiff_t offset, ptrdiff_t stride, size_t length) {
    const char* p = row + offset;
    if (!is_half(columns.dtype)) {
      pick(columns.dtype, p, stride, length, columns.swapped, out + at);
      return;
    }
    const void* contiguous = p;
    if (stride != 2 || columns.swapped || (uintptr_t)p % 2) {
      pick<uint16_t>(p, stride, length, columns.swapped, (uint16_t*)room);
      contiguous = room;
    }
    if constexpr (sizeof(C) == 4) {
      narrow_element.widen(contiguous, out + at, length);
    } else {
      float wide[256];
      for (size_t i = 0; i < length; i += 256) {
        size_t m = std::min(length - i, (size_t)256);
        narrow_element.widen((const uint16_t*)contiguous + i, wide, m);
        for (size_t j = 0; j < m; j++) out[at + i + j] = wide[j];
        count_stores(out + at + i, m);
      }
    }
  });
}

template <class C>
void mask(const Columns& columns, const char* row, size_t first, size_t n, C* out) {
  constexpr C never = -(C)__builtin_inf();
  columns.runs(first, n, [&](size_t at, ptrdiff_t offset, ptrdiff_t stride, size_t length) {
    const char* p = row + offset;
    C* o = out + at;
    count_loads(o, length);
    count_stores(o, length);
    if (stride == 1)
      for (size_t i = 0; i < length; i++) o[i] = p[i] ? o[i] : never;
    else if (stride == 0)
      for (size_t i = 0; i < length; i++) o[i] = *p ? o[i] : never;
    else
      for (size_t i = 0; i < length; i++, p += stride) o[i] = *p ? o[i] : never;
  });
}

template <class C>
void scatter(const Columns& columns, char* row, size_t first, size_t n, const C* in, void* room,
             const Kernels& narrow_element) {
  columns.runs(first, n, [&](size_t at, ptrdiff_t offset, ptrdiff_t stride, size_t length) {
    char* p = row + offset;
    const C* source = in + at;
    switch (columns.dtype) {
      case DType::f64: {
        double wide[256];
        for (size_t i = 0; i < length; i += 256) {
          size_t m = std::min(length - i, (size_t)256);
          count_loads(source + i, m);
          for (size_t j = 0; j < m; j++) wide[j] = (double)source[i + j];
          put(p + (ptrdiff_t)i * stride, stride, m, columns.swapped, wide);
        }
        return;
      }
      default: {
        float single[256];
        for (size_t i = 0; i < length; i += 256) {
          size_t m = std::min(length - i, (size_t)256);
          count_loads(source + i, m);
          bool exactly = sizeof(C) == 8 && is_half(columns.dtype);
          for (size_t j = 0; j < m; j++)
            single[j] = exactly ? to_odd((double)source[i + j]) : (float)source[i + j];
          char* to = p + (ptrdiff_t)i * stride;
          if (columns.dtype == DType::f32) {
            put(to, stride, m, columns.swapped, single);
          } else {
            narrow_element.narrow(single, room, m);
            put(to, stride, m, columns.swapped, (const uint16_t*)room);
          }
        }
      }
    }
  });
}

template <class C>
C element(const Columns& columns, const char* row, size_t column, const Kernels& narrow_element) {
  C v;
  const char* p = row + columns.offset(column);
  if (is_half(columns.dtype)) {
    count_strided_loads<uint16_t>(p, 0, 1);
    uint16_t bits = load<uint16_t>(p, columns.swapped);
    float wide;
    narrow_element.widen(&bits, &wide, 1);
    return wide;
  }
  pick(columns.dtype, p, 0, 1, columns.swapped, &v);
  return v;
}

template float element(const Columns&, const char*, size_t, const Kernels&);
template double element(const Columns&, const char*, size_t, const Kernels&);
template void gather(const Columns&, const char*, size_t, size_t, float*, void*, const Kernels&);
template void gather(const Columns&, const char*, size_t, size_t, double*, void*, const Kernels&);
template void mask(const Columns&, const char*, size_t, size_t, float*);
template void mask(const Columns&, const char*, size_t, size_t, double*);
template void scatter(const Columns&, char*, size_t, size_t, const float*, void*, const Kernels&);
template void scatter(const Columns&, char*, size_t, size_t, const double*, void*, const Kernels&);

}  // namespace oneread::inline ONEREAD_DRIVERS
