// Inputs of transformers that read texts beside the image: texts of different lengths as items of one batch, negative prompts first, and
// positions of the tokens of an image.

import type { Tensor } from '../../../gpu/tensor.ts';
import { fillTokens, joinRows } from '../../../kernels/copy-rows.ts';
import { sincosPlaces } from '../../../models/image/sincos-places.ts';
import type { Scope } from '../recording/scope.ts';
import { conditionOnce, type TransformerRequest } from './transformer-model.ts';

export interface JoinedTexts {
  /** Texts of an image. */
  passes: number;
  /** The conditioned texts, [passes · images, tokens, hidden]; tokens behind a text are not seen. */
  text: Tensor;
  /** u32 [items]: tokens of each text. */
  counts: Tensor;
}

/** `scope` owns the result. */
export async function joinTexts(
  given: TransformerRequest<{ condition(states: Tensor): Tensor }>,
  scope: Scope,
): Promise<JoinedTexts> {
  const { device, page, images } = given;
  const texts = given.texts.map(({ states }) => states).toReversed();
  const columns = texts[0]!.columns;
  const lengths = texts.map(({ shape }) => shape[1] as number);
  const most = Math.max(...lengths);
  const fill = scope.hold(device.tensor('step', 'padding of texts', [1, columns], new Float32Array(columns)));
  const passes = texts.length;
  const items = passes * images;
  const text = await conditionOnce(given, scope, (tape) => {
    const filled = texts.map((states) => fillTokens(states.on(tape), fill.on(tape), most));
    return page.condition(joinRows(filled, [items, most]));
  });
  const ofItems = lengths.flatMap((length) => Array<number>(images).fill(length));
  const counts = device.tensor('step', 'tokens of texts', [items], Uint32Array.from(ofItems));
  return { passes, text, counts: scope.hold(counts) };
}

/** Positions of the tokens of an image, [1, tokens, hidden]. `sampleSize`: latents along a side in training. */
export function uploadPlaces(
  { device, height, width }: Pick<TransformerRequest<unknown>, 'device' | 'height' | 'width'>,
  scope: Scope,
  { patch, sampleSize, ...places }: { patch: number; sampleSize: number; hidden: number; scale: number },
): Tensor {
  const [rows, columns, base] = [height / patch, width / patch, Math.floor(sampleSize / patch)];
  const values = sincosPlaces({ rows, columns, base, ...places });
  return scope.hold(device.tensor('step', 'positions of tokens', [1, rows * columns, places.hidden], values));
}
