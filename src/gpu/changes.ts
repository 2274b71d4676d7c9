// How often the dispatches of a tape write to each tensor, for readers that are recorded later than what they describe.

import type { Binding } from './linker.ts';
import { tensorOf, type Operand } from './operand.ts';
import type { Tensor } from './tensor.ts';

export class Changes {
  readonly #counts = new Map<Tensor, number>();

  record(bindings: readonly Binding[], bind: Readonly<Record<string, Operand>>): void {
    for (const { name, type } of bindings) {
      const tensor = type === 'storage' ? tensorOf(bind[name]!) : null;
      if (tensor) this.#counts.set(tensor, this.of(tensor) + 1);
    }
  }

  /** Number of dispatches so far that write to the tensor. */
  of(tensor: Tensor): number {
    return this.#counts.get(tensor) ?? 0;
  }
}
