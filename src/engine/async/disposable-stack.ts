// AsyncDisposableStack, which Node 20 lacks: resources are released in reverse order.

export class DisposableStack {
  readonly #entries: (() => Promise<void> | void)[] = [];

  /** Calls `giveBack` when the stack is disposed. */
  defer(giveBack: () => Promise<void> | void): void {
    this.#entries.push(giveBack);
  }

  /** Releases everything, the latest first, even if some of it fails; then throws the first failure. */
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
