// Texts of different lengths as items of one batch, for transformers that attend to a text beside the image.

import type { Tensor } from '../../../gpu/tensor.ts';
import { fillTokens, joinRows } from '../../../kernels/copy-rows.ts';
import { compute, type ComputeOptions } from '../recording/compute.ts';
import type { ComponentAccess } from '../components/components.ts';
import type { Scope } from '../recording/scope.ts';

export interface JoinedTexts {
  /** The conditioned texts, [items, tokens, hidden]; tokens behind a text are not seen. */
  text: Tensor;
  /** u32 [items]: tokens of each text. */
  counts: Tensor;
}

/** `texts`: states of the texts, [1, tokens, columns] each; `scope` owns the result. */
export async function joinTexts(
  { device }: ComponentAccess,
  texts: readonly Tensor[],
  condition: (states: Tensor) => Tensor,
  options: ComputeOptions,
  scope: Scope,
): Promise<JoinedTexts> {
  const columns = texts[0]!.columns;
  const lengths = texts.map(({ shape }) => shape[1] as number);
  const most = Math.max(...lengths);
  const fill = scope.hold(device.tensor('step', 'padding of texts', [1, columns], new Float32Array(columns)));
  const [text] = await compute(device, options, (tape) => {
    const filled = texts.map((states) => fillTokens(states.on(tape), fill.on(tape), most));
    return [condition(joinRows(filled, [texts.length, most]))];
  });
  const counts = device.tensor('step', 'tokens of texts', [texts.length], Uint32Array.from(lengths));
  return { text: scope.hold(text!), counts: scope.hold(counts) };
}
