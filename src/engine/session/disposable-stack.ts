// AsyncDisposableStack, which Node 20 lacks: what was acquired is given back in reverse order.

export class DisposableStack {
  readonly #entries: (() => Promise<void> | void)[] = [];

  /** Calls `giveBack` when the stack is disposed. */
  defer(giveBack: () => Promise<void> | void): void {
    this.#entries.push(giveBack);
  }

  /** Gives everything back, the latest first, even where some of it fails; then throws the first failure. */
  async dispose(): Promise<void> {
    const failures: unknown[] = [];
    for (let giveBack = this.#entries.pop(); giveBack; giveBack = this.#entries.pop()) {
      try {
        await giveBack();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
