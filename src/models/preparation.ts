// Work in pieces, between which an engine lets other work run, checks what is planned, and may stop.

/** Does all pieces at once. */
export function finished<T>(work: Generator<unknown, T, void>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
