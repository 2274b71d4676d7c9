// Steps of transformers over the tokens of a text and behind them those of images: FLUX.1, FLUX.2 and models made from them. Each text has a
// pass of its own.

import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { concat } from '../../../kernels/concat.ts';
import { joinTokens } from '../../../kernels/copy-rows.ts';
import { divideTokens } from '../../../kernels/gather-tokens.ts';
import { patchify, unpatchify } from '../../../kernels/patchify.ts';
import type { Scope } from '../recording/scope.ts';
import {
  combineGuided,
  conditionOnce,
  guidedScalars,
  seenByAll,
  uploadRotations,
  type RecordedStep,
  type StepInputs,
  type TextStates,
  type TransformerRequest,
} from './transformer-model.ts';

/** Factor on the guidance scale where it is embedded like a time step. */
const GUIDANCE_SCALE = 1000;

/** Inputs of one pass on the tape of a step. */
export interface StreamInputs {
  /** Patches of the input and behind them those of references, [images, tokens, size² · inputs], channel by channel. */
  patches: Tensor;
  /** The conditioned texts, [images, tokens, hidden]. */
  text: Tensor;
  /** Rotations of the text, of the patches, and of both one after the other. */
  rotations: Rotations;
  /** Number of patches that are denoised. */
  denoised: number;
}

interface Rotations {
  text: Tensor;
  image: Tensor;
  both: Tensor;
}

interface Grid {
  /** 0: the image that is denoised; from 1 on: those that it sees. */
  image: number;
  rows: number;
  columns: number;
}

export interface Streams {
  /** Latents along one side of a token. */
  patch: number;
  /** Columns of a token's rotations. */
  dims: number;
  rotateText(tokens: number): Float32Array;
  rotateImage(grid: Grid): Float32Array;
  /** The scale by which the pass for the negative prompt guides. */
  scale: number;
  /** Returns the function that records a pass. */
  pass(tape: Tape, inputs: StepInputs): (inputs: StreamInputs, text: TextStates) => Tensor;
}

export async function streamStep(
  given: TransformerRequest<{ condition(text: Tensor): Tensor }>,
  scope: Scope,
  { patch, dims, rotateText, rotateImage, scale, pass }: Streams,
): Promise<RecordedStep> {
  const { device, page, texts, images, references, latents, extra, height, width } = given;
  const patches = { size: patch, order: 'cpq' } as const;
  const upload = (label: string, ...parts: Float32Array[]): Tensor =>
    uploadRotations(device, scope, { label, dims }, ...parts);
  const grids = [latents, ...references].map(({ shape }, image) => {
    const [, rows, columns] = shape as [number, number, number];
    return rotateImage({ image, rows: rows / patch, columns: columns / patch });
  });
  const image = upload('rotations of images', ...grids);
  /** Rotations for texts of a number of tokens. */
  const rotations = new Map<number, Rotations>();
  const sides: { text: TextStates; condition: Tensor; turns: Rotations }[] = [];
  for (const text of texts) {
    const tokens = text.states.shape[1] as number;
    const own = rotateText(tokens);
    const turns = rotations.get(tokens) ?? {
      text: upload('rotations of a text', own),
      image,
      both: upload('rotations of both', own, ...grids),
    };
    rotations.set(tokens, turns);
    const condition = await conditionOnce(given, scope, (tape) => page.condition(text.states.on(tape)));
    sides.push({ text, condition, turns });
  }
  return {
    record(tape, inputs) {
      const input = extra ? concat(latents.on(tape), extra.on(tape)) : latents.on(tape);
      const first = patchify(input, patches);
      const others = references.map((one) => seenByAll(patchify(one.on(tape), patches), images));
      const tokens = [first, ...others].map(({ shape }) => shape[1] as number);
      const all = [first, ...others].reduce(joinTokens);
      /** Numbers of the sequences of images, behind that of the text. */
      const seen = tokens.map((_, i) => 1 + i);
      const forward = pass(tape, inputs);
      const predictions = sides.map(({ text, condition, turns }) => {
        const divided = divideTokens(all, [condition.shape[1] as number, ...tokens]);
        const prediction = forward(
          {
            patches: divided.own(all, ...seen),
            text: divided.own(condition.on(tape), 0),
            rotations: {
              text: divided.own(turns.text.on(tape), 0),
              image: divided.own(turns.image.on(tape), ...seen),
              both: divided.own(turns.both.on(tape)),
            },
            denoised: divided.count(1),
          },
          text,
        );
        return divided.all(prediction, 1);
      });
      return unpatchify(combineGuided(predictions, inputs), { ...patches, height, width });
    },
    values: ({ timestep }) => ({ time: timestep, scalars: guidedScalars(scale) }),
  };
}

/** The guidance scale as an input of distilled models, [items, 1, 1]; null: the model has no such input. */
export function embeddedGuidance(
  { device, request }: Pick<TransformerRequest<unknown>, 'device' | 'request'>,
  scope: Scope,
  isTaken: boolean,
  items = 1,
): Tensor | null {
  if (!isTaken) return null;
  const values = new Float32Array(items).fill(GUIDANCE_SCALE * request.values.guidance);
  return scope.hold(device.tensor('step', 'guidance', [items, 1, 1], values));
}
