// Weights that torch computes of others (torch.nn.utils.parametrize), under the names that they have without: `x.parametrizations.weight.original` is
// `x.weight`, and the tensor `lora_A` of what is computed of it `x.weight.lora_A`.

import type { TensorEntry } from '../tensors/safetensors.ts';

const STORED = /^(.*)\.parametrizations\.weight\.(original|0\.lora_[AB])$/;

export function plainNames(tensors: Map<string, TensorEntry>): Map<string, TensorEntry> {
  if (![...tensors.keys()].some((name) => STORED.test(name))) return tensors;
  return new Map(
    [...tensors].map(([stored, entry]) => {
      const [, module, part] = STORED.exec(stored) ?? [];
      if (module === undefined) return [stored, entry];
      const name = `${module}.weight${part === 'original' ? '' : part!.slice(1)}`;
      return [name, { ...entry, name, storedAs: entry.storedAs ?? stored }];
    }),
  );
}
