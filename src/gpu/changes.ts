// How often the dispatches of a tape write to each tensor, for readers that are recorded later than what they describe.

import type { Binding } from './linker.ts';
import { tensorOf, type Operand } from './operand.ts';
import type { Tensor } from './tensor.ts';

export class Changes {
  readonly #counts = new Map<Tensor, number>();
  #forgotten = 0;

  record(bindings: readonly Binding[], bind: Readonly<Record<string, Operand>>): void {
    for (const { name, type } of bindings) {
      const tensor = type === 'storage' ? tensorOf(bind[name]!) : null;
      if (tensor) this.#counts.set(tensor, (this.#counts.get(tensor) ?? 0) + 1);
    }
  }

  /** Counts a change of every tensor. */
  forget(): void {
    this.#forgotten++;
  }

  /** Number of dispatches so far that write to the tensor, and of changes of every tensor. */
  of(tensor: Tensor): number {
    return (this.#counts.get(tensor) ?? 0) + this.#forgotten;
  }
}
