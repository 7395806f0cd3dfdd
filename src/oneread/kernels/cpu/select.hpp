// The k first columns of a row in the order of the policy: NaN, then larger values, then smaller
// columns; columns that where= or lengths= leaves out come last.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "rows.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

// Numbers as unsigned keys: a larger key comes first. -0.0 and 0.0 are one key, NaN of either sign
// is the largest one, and 0, below -inf's, is left for columns that are not kept.
template <class Bits, class C>
Bits key_of(C v) {
  constexpr Bits sign = (Bits)1 << (sizeof(Bits) * 8 - 1);
  if (std::isnan(v)) return (Bits)-1;
  auto bits = std::bit_cast<Bits>(v);
  if (bits == sign) bits = 0;
  return bits & sign ? ~bits : bits | sign;
}
inline uint32_t order_key(float v) { return key_of<uint32_t>(v); }
inline uint64_t order_key(double v) { return key_of<uint64_t>(v); }

// The number of a key that is neither NaN's nor 0.
template <class C, class Bits>
C number_of(Bits key) {
  constexpr Bits sign = (Bits)1 << (sizeof(Bits) * 8 - 1);
  return std::bit_cast<C>(key & sign ? key ^ sign : (Bits)~key);
}

template <class C>
struct Candidate {
  using Key = decltype(order_key(C{}));
  Key key;
  int64_t column;
  bool operator<(const Candidate& other) const {
    return key != other.key ? key > other.key : column < other.column;
  }
};

// The best k of the candidates seen so far, in a buffer that is pruned when it is full: any number
// of ties passes through it.
template <class C>
class Best {
 public:
  static constexpr size_t kCapacity = 8192;

  Best(Candidate<C>* buffer, size_t k) : buffer_(buffer), k_(k) {}

  void add(typename Candidate<C>::Key key, int64_t column) {
    Candidate<C> next{key, column};
    if (full_once_ && !(next < worst_)) return;
    buffer_[count_++] = next;
    if (count_ == kCapacity) prune();
  }

  // Write the columns, best first, and return how many there are.
  size_t finish(int64_t* columns) {
    if (count_ > k_) prune();
    std::sort(buffer_, buffer_ + count_);
    for (size_t i = 0; i < count_; i++) columns[i] = buffer_[i].column;
    return count_;
  }

 private:
  void prune() {
    std::nth_element(buffer_, buffer_ + (k_ - 1), buffer_ + count_);
    count_ = k_;
    worst_ = buffer_[k_ - 1];
    full_once_ = true;
  }

  Candidate<C>* buffer_;
  size_t k_;
  size_t count_ = 0;
  bool full_once_ = false;
  Candidate<C> worst_{};
};

inline constexpr size_t kHits = 512, kValues = 4096;

// Room for the selection of one row.
template <class C>
struct SelectRoom {
  SelectRoom(size_t groups, bool sorts)
      : second(groups / 16 + 64),
        reaching(groups),
        found(groups),
        values(groups ? kValues : 0),
        places(groups ? kValues : 0),
        above(groups ? kValues : 0),
        candidates(sorts ? Best<C>::kCapacity : 0),
        counts(2048) {}
  Room<C> second, reaching;  // maxima of maxima; the maxima that reach the first bound
  Room<uint32_t> found;      // their groups, which may hold one of the k
  Room<C> values;            // elements that reach the bound
  Room<int64_t> places;      // and their columns
  Room<uint32_t> above;      // those of them that reach a higher bound
  Room<Candidate<C>> candidates;
  Room<size_t> counts;
  uint32_t hits[kHits];  // columns above the bound in part of a block
};

// A bound that at least k of the n numbers reach, and few more, given one that at least k do: by
// halving what lies between it and the largest of them. Counting in vectors, 0.1 us for 200
// numbers, where partitioning them takes 1 us.
template <class C>
C raised(const Kernels& own, const C* numbers, size_t n, size_t k, C bound) {
  if (n <= k + k / 4) return bound;
  C lanes[64 / sizeof(C)];
  std::fill(lanes, lanes + own.width, -(C)kInf);
  own.block_max(numbers, n, n, lanes);
  auto low = order_key(bound), high = order_key(*std::max_element(lanes, lanes + own.width));
  while (low < high) {
    auto middle = low + (high - low) / 2 + 1;
    C value = number_of<C>(middle);
    size_t reach = n - own.count_below(numbers, n, &value, false);
    if (reach < k) {
      high = middle - 1;
      continue;
    }
    low = middle;
    if (reach <= k + k / 4) break;
  }
  return number_of<C>(low);
}

// Columns of -inf for the places from n to k: the lowest that are kept, then the lowest of the
// rest.
inline void fill_with_never(const Rows& rows, size_t row, size_t n, size_t k, int64_t* columns) {
  size_t length = rows.length(row);
  for (size_t c = 0; c < length && n < k; c++)
    if (rows.kept(row, c) && rows.element_at<double>(row, c) == -kInf) columns[n++] = (int64_t)c;
  for (size_t c = 0; c < rows.vocab() && n < k; c++)
    if (!rows.kept(row, c)) columns[n++] = (int64_t)c;
}

// The k largest by the bounds that the maxima of groups give. The k-th largest maximum is at most
// the k-th largest element, and only the groups that reach it need a second look. The row has no
// NaN.
template <class C>
class GroupSelection {
 public:
  GroupSelection(const Rows& rows, size_t row, size_t k, const Plan& plan, SelectRoom<C>& room)
      : rows_(rows),
        row_(row),
        k_(k),
        plan_(plan),
        width_((size_t)rows.table.width),
        length_(rows.length(row)),
        room_(room),
        best_(room.candidates.get(), k) {}

  void run(const C* maxima, int64_t* columns) {
    size_t count = find_groups(maxima);
    // From the end of the row that has the larger ones: its elements raise the bound for the rest.
    bool rises = count && room_.reaching[0] < room_.reaching[count - 1];
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
      size_t at = rises ? count - 1 - i : i;
      if (!(room_.reaching[at] >= bound_) || room_.reaching[at] == kNever) continue;
      size_t group = room_.found[at], block = group / width_;
      size_t column = block * plan_.group_vectors * width_;
      size_t stop = std::min(column + plan_.group_vectors * width_, length_);
      if (plan_.staged) {  // single elements lie far apart: this lane's alone
        for (column += group % width_; column < stop; column += width_) offer(column);
      } else if (block != last) {  // groups of one block share its vectors
        last = block;
        for (; column < stop; column += kHits) offer_part(column, std::min(kHits, stop - column));
      }
      if (count_ >= 2 * k_ + 64) pass_on();
    }
    pass_on();
    size_t n = best_.finish(columns);
    if (n < k_) fill_with_never(rows_, row_, n, k_, columns);
  }

 private:
  static constexpr C kNever = -(C)kInf;

  // Groups whose maxima reach a bound, from the maxima of 16 vectors of maxima, so that few maxima
  // are looked at. They give a higher one.
  size_t find_groups(const C* maxima) {
    size_t second = (plan_.groups + 16 * width_ - 1) / (16 * width_) * width_;
    if (second >= 2 * k_) {
      std::fill(room_.second.get(), room_.second.get() + second, kNever);
      rows_.own.block_max(maxima, plan_.groups, 16, room_.second.get());
      bound_ = raised(rows_.own, room_.second.get(), second, k_, kNever);
    }
    size_t count = rows_.own.collect(maxima, plan_.groups, &bound_, room_.found.get());
    for (size_t i = 0; i < count; i++) room_.reaching[i] = maxima[room_.found[i]];
    bound_ = raised(rows_.own, room_.reaching.get(), count, k_, bound_);
    return count;
  }

  void offer_part(size_t column, size_t n) {
    const char* x = rows_.x(row_) + column * rows_.item();
    size_t hits = rows_.table.collect(x, n, &bound_, room_.hits);
    for (size_t h = 0; h < hits; h++) offer(column + room_.hits[h]);
  }

  void offer(size_t column) {
    C v = rows_.element_at<C>(row_, column);
    if (!(v >= bound_) || v == kNever) return;
    room_.values[count_] = v;
    room_.places[count_++] = (int64_t)column;
    if (count_ == kValues) pass_on();
  }

  // Elements that may be among the k; the many of a row that rises raise the bound first.
  void pass_on() {
    if (count_ >= k_) bound_ = raised(rows_.own, room_.values.get(), count_, k_, bound_);
    size_t n = rows_.own.collect(room_.values.get(), count_, &bound_, room_.above.get());
    for (size_t i = 0; i < n; i++) {
      uint32_t at = room_.above[i];
      best_.add(order_key(room_.values[at]), room_.places[at]);
    }
    count_ = 0;
  }

  const Rows& rows_;
  size_t row_, k_;
  const Plan& plan_;
  size_t width_, length_;
  SelectRoom<C>& room_;
  Best<C> best_;
  C bound_ = kNever;
  size_t count_ = 0;  // elements in room_.values
};

template <class C>
void select_by_groups(const Rows& rows, size_t row, size_t k, const Plan& plan, const C* maxima,
                      SelectRoom<C>& room, int64_t* columns) {
  GroupSelection<C>(rows, row, k, plan, room).run(maxima, columns);
}

// Call visit(key, column) for every column, in order; 0 for columns that are not kept.
template <class C, class Visit>
void visit_keys(const Rows& rows, size_t row, C* buffer, void* bytes, bool masked, Visit visit) {
  size_t length = rows.length(row);
  for (size_t at = 0; at < length; at += kBlock) {
    size_t n = std::min(kBlock, length - at);
    rows.stage(row, at, n, buffer, bytes);
    count_loads(buffer, n);
    for (size_t i = 0; i < n; i++) {
      bool out = masked && buffer[i] == -(C)kInf && !rows.kept(row, at + i);
      visit(out ? 0 : order_key(buffer[i]), at + i);
    }
  }
  for (size_t at = length; at < rows.vocab(); at++) visit(typename Candidate<C>::Key{0}, at);
}

// Short rows: every column is a candidate.
template <class C>
void select_by_sorting(const Rows& rows, size_t row, size_t k, bool masked, C* buffer, void* bytes,
                       SelectRoom<C>& room, int64_t* columns) {
  Best<C> best(room.candidates.get(), k);
  visit_keys(rows, row, buffer, bytes, masked,
             [&](auto key, size_t column) { best.add(key, (int64_t)column); });
  best.finish(columns);
}

// The k-th largest key, digit by digit, then all columns that are larger and as many ties as are
// left, then a sort. Any k, any numbers; reads the row once a digit and once more. Should the row
// change meanwhile, the columns are any, but no memory of others is touched.
template <class C>
void select_by_radix(const Rows& rows, size_t row, size_t k, bool masked, C* buffer, void* bytes,
                     SelectRoom<C>& room, int64_t* columns) {
  using Key = typename Candidate<C>::Key;
  constexpr int kBits = sizeof(Key) * 8, kDigit = 11;
  size_t* counts = room.counts.get();
  Key prefix = 0, known = 0;  // the bits of the k-th key found so far
  size_t ties = k;            // how many columns with the k-th key belong to the k
  for (int high = kBits; high > 0;) {
    int low = std::max(0, high - kDigit), buckets = 1 << (high - low);
    std::fill(counts, counts + buckets, 0);
    visit_keys(rows, row, buffer, bytes, masked, [&](Key key, size_t) {
      if ((key & known) == prefix) counts[(key >> low) & (Key)(buckets - 1)]++;
    });
    int digit = buckets - 1;
    for (; digit > 0 && counts[digit] < ties; digit--) ties -= counts[digit];
    prefix |= (Key)digit << low;
    known |= (Key)(buckets - 1) << low;
    high = low;
  }
  size_t n = 0;
  visit_keys(rows, row, buffer, bytes, masked, [&](Key key, size_t column) {
    if (key < prefix || (key == prefix && !ties) || n == k) return;
    if (key == prefix) ties--;
    // Key and column in one number, where they fit, sort without another look at the row.
    bool packed = sizeof(Key) == 4 && rows.vocab() <= (size_t)1 << 32;
    columns[n++] = packed ? (int64_t)((uint64_t)(Key)~key << 32 | column) : (int64_t)column;
  });
  std::fill(columns + n, columns + k, 0);
  if (sizeof(Key) == 4 && rows.vocab() <= (size_t)1 << 32) {
    auto packed = reinterpret_cast<uint64_t*>(columns);
    std::sort(packed, packed + k);
    for (size_t i = 0; i < k; i++) packed[i] &= UINT32_MAX;
  } else {
    auto key_at = [&](int64_t c) -> Key {
      return rows.kept(row, (size_t)c) ? order_key(rows.element_at<C>(row, (size_t)c)) : 0;
    };
    std::sort(columns, columns + k, [&](int64_t a, int64_t b) {
      Key ka = key_at(a), kb = key_at(b);
      return ka != kb ? ka > kb : a < b;
    });
  }
}

}  // namespace oneread::inline ONEREAD_DRIVERS
