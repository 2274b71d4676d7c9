// From a request to its pictures, stage by stage: text, the picture it starts from, denoising, decoding. Each stage's weights
// leave the device before the next one's come, unless all of them are small beside the budget.

import { EngineError } from '../../files/error.ts';
import type { Tape } from '../../gpu/tape.ts';
import type { Region, Tensor } from '../../gpu/tensor.ts';
import { latentColours } from '../../kernels/latent-colours.ts';
import { linearCombination } from '../../kernels/linear-combination.ts';
import { toPixels } from '../../kernels/to-pixels.ts';
import { scaleRows } from '../../kernels/scale-rows.ts';
import { compute, finitely, freeTensors, NotFiniteError, type ComputeOptions } from './compute.ts';
import type { Components } from './components.ts';
import type { GivenPictures } from './given-pictures.ts';
import { createHeld, orFree } from './held.ts';
import type { ImageEvent, Pixels, StageName } from './image-model.ts';
import type { Tiling } from '../../models/autoencoder-kl.ts';
import { colourFactors } from './latent-colours.ts';
import { readPicture, uploadPicture, type Autoencoder } from './pictures.ts';
import { cpuNoise, cudaNoise } from './noise.ts';
import type { Resolved } from './resolve.ts';
import type { Prepared, RecordPredictor, Runner } from './runner.ts';
import { sampleLatentsOf, type Encoded } from './sampler.ts';
import type { Plan } from './schedules/schedule.ts';

export interface Drawing extends GivenPictures {
  components: Components;
  runner: Runner;
  autoencoder: Autoencoder;
  plan: Plan;
  resolved: Resolved;
  signal: AbortSignal | undefined;
  options: ComputeOptions;
  emit(event: ImageEvent): void;
  onStage?(name: StageName): void;
}

export async function draw(drawing: Drawing): Promise<void> {
  const { components, runner, resolved, options, emit } = drawing;
  const { values, sources } = resolved.event;
  const prepared = await stage(drawing, 'text-encoding', () =>
    runner.prepare({ ...resolved.request, values, sources, call: resolved.call, options }),
  );
  let encoded: Encoded | null = null;
  try {
    const { image } = drawing;
    const each = tokensOf(drawing);
    emit({ type: 'tokens', text: prepared.tokens, image: image ? each : 0, each });
    encoded = image && (await stage(drawing, 'image-encoding', () => encodePictures(drawing, image)));
    const samples = Array.from({ length: values.samples }, (_, i) => i);
    // Small models show each picture as soon as it is there; large ones are loaded once for all.
    for (const group of components.resident ? samples.map((i) => [i]) : [samples]) {
      await drawGroup(drawing, prepared, encoded, group);
    }
  } finally {
    prepared.free();
    freeTensors(components.device, [encoded?.picture, encoded?.mask?.latents, encoded?.mask?.masked]);
  }
}

/** What the denoiser takes a picture as. */
function tokensOf({ autoencoder: { factor }, runner, resolved }: Drawing): number {
  const { width, height } = resolved.event.values;
  const [high, wide] = [height / factor, width / factor];
  return runner.flow?.tokens(high, wide) ?? high * wide;
}

async function drawGroup(
  drawing: Drawing,
  prepared: Prepared,
  encoded: Encoded | null,
  samples: readonly number[],
): Promise<void> {
  const { components, resolved, emit } = drawing;
  const latents: Tensor[] = [];
  try {
    await stage(drawing, 'denoising', () => denoise(drawing, prepared, encoded, samples, latents));
    await stage(drawing, 'decoding', () =>
      withDecoder(drawing, async (decode) => {
        for (const [i, sample] of samples.entries()) {
          assertWanted(drawing.signal);
          const drawn = await decode(latents[i]!);
          const image = drawing.finish?.(drawn) ?? drawn;
          emit({ type: 'image', sample, seed: resolved.request.seed + sample, image });
        }
      }),
    );
  } finally {
    freeTensors(components.device, latents);
  }
}

function assertWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled');
}

/** Runs one stage on its own: what the device held for it alone is given back. */
async function stage<T>(
  { components: { device }, options: { profiler }, emit, signal, onStage }: Drawing,
  name: StageName,
  run: () => Promise<T>,
): Promise<T> {
  assertWanted(signal);
  onStage?.(name);
  // What a profile takes is no part of it.
  const now = () => performance.now() - (profiler?.spent ?? 0);
  const startedAt = now();
  device.takePeak();
  try {
    return await run();
  } finally {
    emit({ type: 'stage', name, milliseconds: now() - startedAt, peakBytes: device.takePeak() });
    device.arena.clear();
  }
}

/** The latents of each sample, put into `latents` as they are made. */
async function denoise(
  drawing: Drawing,
  prepared: Prepared,
  encoded: Encoded | null,
  samples: readonly number[],
  latents: Tensor[],
): Promise<void> {
  await prepared.use(async (record) => {
    for (const sample of samples) {
      const made = await sampleOnce(drawing, record, encoded, sample, drawing.options).catch(
        (error: unknown) => {
          if (!(error instanceof NotFiniteError) || drawing.options.plain) throw error;
          const message =
            'a step gave values that are not finite numbers; the picture is drawn again in plain f32';
          drawing.emit({ type: 'note', message });
          return sampleOnce(drawing, record, encoded, sample, { ...drawing.options, plain: true });
        },
      );
      latents.push(made);
    }
  });
}

function sampleOnce(
  drawing: Drawing,
  record: RecordPredictor,
  encoded: Encoded | null,
  sample: number,
  options: ComputeOptions,
): Promise<Tensor> {
  const { autoencoder, components, resolved, plan, signal, emit } = drawing;
  const { values } = resolved.event;
  const [height, width] = [values.height / autoencoder.factor, values.width / autoencoder.factor];
  const { previewEvery = 0, seed } = resolved.request;
  const show = previewEvery > 0 ? preview(drawing, sample) : null;
  return sampleLatentsOf({
    device: components.device,
    autoencoder,
    height,
    width,
    plan,
    strength: values.strength,
    encoded,
    noise: (values.generatorDevice === 'cuda' ? cudaNoise : cpuNoise)(seed + sample),
    options,
    signal,
    predictor: (latents, output, extra) => record(latents, output, extra, options),
    preview: show && { every: previewEvery, show },
    onStep: (step) => emit({ type: 'step', sample, ...step }),
  });
}

/** Shows a step's clean latents: decoded where weights stay on the device, else as colours of single latents. */
function preview(drawing: Drawing, sample: number) {
  const { components, autoencoder, options, emit } = drawing;
  const { device } = components;
  if (components.resident) {
    return async (estimate: Tensor, step: number): Promise<void> => {
      const image = await withDecoder(drawing, (decode) => decode(estimate));
      emit({ type: 'preview', sample, step, image });
    };
  }
  const factors = colourFactors(autoencoder.latentChannels, autoencoder.scale);
  if (!factors) {
    const message =
      'there are no previews of this model: its latents have no known colours, and its decoder waits its turn';
    emit({ type: 'note', message });
    return null;
  }
  return async (estimate: Tensor, step: number): Promise<void> => {
    const [, height, width] = estimate.shape as number[];
    const held = createHeld(device);
    const table = held.hold(device.tensor('step', 'colours', [factors.length], factors));
    const unread = held.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1)));
    const image = await picture(drawing, options, width!, height!, (tape) =>
      toPixels(latentColours(estimate.on(tape), table.region!), unread.region!),
    ).finally(held.free);
    emit({ type: 'preview', sample, step, image });
  };
}

/** Rows of pixels of an autoencoder in strips. */
const STRIP_ROWS = 32;

const tilingOf = ({ resolved }: Drawing): Tiling =>
  resolved.request.tiling ? { stripRows: STRIP_ROWS } : {};

type Decode = (latents: Tensor) => Promise<Pixels>;

/** The decoder's weights are on the device while `body` runs. */
function withDecoder<T>(drawing: Drawing, body: (decode: Decode) => Promise<T>): Promise<T> {
  const { components, autoencoder, options, resolved } = drawing;
  const { device } = components;
  const { width, height } = resolved.event.values;
  const tiling = tilingOf(drawing);
  return components.use('vae', 'decoder', autoencoder.decoder, (decoder) =>
    body((latents) =>
      finitely(device, options, 'the decoder', (way, notFinite) =>
        picture(drawing, way, width, height, (tape) =>
          toPixels(decoder(latents.on(tape), tiling), notFinite),
        ),
      ),
    ),
  );
}

/** What `record` makes of pixels, read back. */
async function picture(
  { components: { device } }: Drawing,
  options: ComputeOptions,
  width: number,
  height: number,
  record: (tape: Tape) => Tensor,
): Promise<Pixels> {
  const made = await compute(device, options, (tape) => [record(tape)]);
  return readPicture(device, made[0]!, width, height).finally(() => freeTensors(device, made));
}

/** The picture to start from, and what inpainting needs of it and of the mask. */
async function encodePictures(drawing: Drawing, image: Pixels): Promise<Encoded> {
  const { components, autoencoder, options, runner, mask } = drawing;
  const { device } = components;
  const tiling = tilingOf(drawing);
  return components.use(
    'vae',
    'encoder',
    (table) => autoencoder.encoder(table),
    async (encode) => {
      const held = createHeld(device);
      try {
        const upload = uploadPicture(device, image);
        held.hold(upload.bytes);
        const kept = mask && runner.fillsMasks ? held.hold(keptPixels(drawing, mask)) : null;
        const one = held.hold(device.tensor('step', 'one', [1], Float32Array.of(1)));
        const run = (way: ComputeOptions, notFinite: Region): Promise<Tensor[]> =>
          compute(device, way, (tape) => {
            const x = upload.on(tape);
            const pictures = kept ? [x, scaleRows(x, kept.region!)] : [x];
            return pictures.map((given) =>
              linearCombination([encode(given, tiling)], one.region!, notFinite),
            );
          });
        return await orFree(device, async ({ hold, later }) => {
          const made = await finitely(device, options, 'the encoder', run, (tensors) =>
            freeTensors(device, tensors),
          );
          later(() => freeTensors(device, made));
          const [picture, masked = null] = made;
          return { picture: picture!, mask: mask && { latents: hold(maskLatents(drawing, mask)), masked } };
        });
      } finally {
        held.free();
      }
    },
  );
}

const isMasked = (mask: Pixels, at: number): boolean => mask.data[3 * at]! >= 128;

/** 0 for each pixel that is drawn anew: a picture times it has the middle of the range there. */
function keptPixels({ components }: Drawing, mask: Pixels): Tensor {
  const values = Float32Array.from({ length: mask.width * mask.height }, (_, i) =>
    Number(!isMasked(mask, i)),
  );
  return components.device.tensor('step', 'kept pixels', [values.length], values);
}

/** 1 where a latent is drawn anew: the mask at the pixel that the latent begins by, [1, height, width, 1]. */
function maskLatents({ components, autoencoder }: Drawing, mask: Pixels): Tensor {
  const { factor } = autoencoder;
  const [height, width] = [mask.height / factor, mask.width / factor];
  const values = Float32Array.from({ length: height * width }, (_, i) => {
    const [y, x] = [Math.floor(i / width), i % width];
    return Number(isMasked(mask, y * factor * mask.width + x * factor));
  });
  return components.device.tensor('step', 'mask', [1, height, width, 1], values);
}
