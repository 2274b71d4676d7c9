// Passes of transformers that join an image with its caption: layers of its own read the caption once, and each text has a pass of its own,
// because captions differ in length.

import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { Scope } from '../recording/scope.ts';
import {
  conditionOnce,
  uploadRotations,
  type StepInputs,
  type TransformerRequest,
} from './transformer-model.ts';

/** [tokens, dims] each, in tensors or as values. */
interface Rotations<T> {
  image: T;
  /** Rotations of the image's tokens, then of the caption's. */
  joint: T;
}

interface CaptionedPage {
  condition(caption: Tensor, rotations: Tensor): Tensor;
  forward(x: Tensor, time: Tensor, caption: Tensor, rotations: Rotations<Tensor>): Tensor;
}

/** Records the prediction for a text, [1, height, width, channels]. */
export type CaptionPass = (tape: Tape, inputs: StepInputs) => Tensor;

/** Returns the passes of all texts; `scope` owns their inputs. `turnsOf`: rotations beside a caption of so many tokens. */
export async function captionPasses(
  given: TransformerRequest<CaptionedPage>,
  scope: Scope,
  dims: number,
  turnsOf: (tokens: number) => Rotations<Float32Array> & { caption: Float32Array },
): Promise<CaptionPass[]> {
  const { device, page, latents } = given;
  const upload = (label: string, values: Float32Array): Tensor =>
    uploadRotations(device, scope, { label, dims }, values);
  const passes: CaptionPass[] = [];
  for (const { states } of given.texts) {
    const turns = turnsOf(states.shape[1] as number);
    const rotations = upload('rotations of a caption', turns.caption);
    const caption = await conditionOnce(given, scope, (tape) =>
      page.condition(states.on(tape), rotations.on(tape)),
    );
    const image = upload('rotations of an image', turns.image);
    const joint = upload('rotations of both', turns.joint);
    passes.push((tape, { time }) =>
      page.forward(latents.on(tape), time, caption.on(tape), {
        image: image.on(tape),
        joint: joint.on(tape),
      }),
    );
  }
  return passes;
}
