// A pause between two pieces of work, in which the page can be painted and can answer.

interface Yielding {
  readonly scheduler?: { yield?(): Promise<void> };
}

export function breath(): Promise<void> {
  const { scheduler } = globalThis as Yielding;
  return scheduler?.yield?.() ?? new Promise((done) => setTimeout(done));
}
