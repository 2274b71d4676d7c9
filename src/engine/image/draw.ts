// From a request to its images, stage by stage: text, the image it starts from, denoising, decoding. Each stage's weights
// leave the device before the next one's come, unless all of them are small beside the budget.

import { bytesText } from '../../files/bytes-text.ts';
import { EngineError } from '../../files/error.ts';
import { BindingError } from '../../gpu/binding-error.ts';
import type { Region, Tensor } from '../../gpu/tensor.ts';
import { linearCombination } from '../../kernels/linear-combination.ts';
import { scaleRows } from '../../kernels/scale-rows.ts';
import { compute, finitely, freeTensors, NotFiniteError, type ComputeOptions } from './compute.ts';
import type { Components } from './components.ts';
import type { GivenImages } from './given-images.ts';
import { createHeld, orFree } from './held.ts';
import type { ColourMap } from './latent-colours.ts';
import type { ImageEvent, Pixels, StageName } from './image-model.ts';
import type { Tiling } from '../../models/image/autoencoder-kl.ts';
import { foreseeTiling } from './decoder-room.ts';
import { preview, withDecoder } from './decoding.ts';
import { uploadImage, type Autoencoder } from './autoencoder.ts';
import { cpuNoise, cudaNoise } from './noise.ts';
import type { Resolved } from './resolve.ts';
import type { FamilyModel, Prepared, RecordPredictor } from './families/family.ts';
import { sampleLatentsOf, type Encoded } from './sampler.ts';
import { latentTokens, shapeOfLatents, type LatentShape } from './latent-shape.ts';
import type { Plan } from './schedules/schedule.ts';

export interface Drawing extends GivenImages {
  components: Components;
  runner: FamilyModel;
  latents: LatentShape;
  autoencoder: Autoencoder;
  /** What previews are made with; without one the decoder, where it stays on the device. */
  colours?: ColourMap | null;
  plan: Plan;
  resolved: Resolved;
  signal: AbortSignal | undefined;
  options: ComputeOptions;
  /** How what it starts from is encoded and its previews are decoded. */
  tiling: Tiling;
  emit(event: ImageEvent): void;
  onStage?(name: StageName): void;
}

export async function draw(asked: Omit<Drawing, 'tiling'>): Promise<void> {
  const { components, runner, resolved, options, emit } = asked;
  const { values, sources } = resolved.event;
  const tiling = await foreseeTiling(asked).catch((error: unknown) => {
    throw inWords(error, 'decoding', values);
  });
  const drawing: Drawing = { ...asked, tiling };
  const prepared = await stage(drawing, 'text-encoding', () =>
    runner.prepare({ ...resolved.request, values, sources, call: resolved.call, options }),
  );
  let encoded: Encoded | null = null;
  try {
    const { image } = drawing;
    const each = latentTokens(drawing.latents, values);
    emit({ type: 'tokens', text: prepared.tokens, image: image ? each : 0, each });
    encoded = image && (await stage(drawing, 'image-encoding', () => encodeImages(drawing, image)));
    const samples = Array.from({ length: values.samples }, (_, i) => i);
    // Small models show each image as soon as it is there; large ones are loaded once for all.
    for (const group of components.resident ? samples.map((i) => [i]) : [samples]) {
      await drawGroup(drawing, prepared, encoded, group);
    }
  } finally {
    prepared.free();
    freeTensors(components.device, [encoded?.image, encoded?.mask?.latents, encoded?.mask?.masked]);
  }
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
  { components: { device }, options: { profiler }, resolved, emit, signal, onStage }: Drawing,
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
  } catch (error) {
    throw inWords(error, name, resolved.event.values);
  } finally {
    emit({ type: 'stage', name, milliseconds: now() - startedAt, peakBytes: device.takePeak() });
    device.arena.clear();
  }
}

/** The error of a tensor that the adapter cannot bind, by what was asked for; any other as it is. */
function inWords(error: unknown, stage: StageName, { width, height }: Resolved['event']['values']): unknown {
  if (!(error instanceof BindingError)) return error;
  const { code, bytes, limit } = error;
  const takes = `takes ${bytesText(bytes)} in one piece, the adapter allows ${bytesText(limit)}`;
  const said =
    stage === 'text-encoding'
      ? `encoding the prompt ${takes}: make it shorter`
      : `${stage === 'image-encoding' ? 'encoding' : stage} ${width} × ${height} pixels ${takes}: choose a smaller size`;
  return new EngineError(code, said, { cause: error });
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
            'a step gave values that are not finite numbers; the image is drawn again in plain f32';
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
  const { autoencoder, components, latents, resolved, plan, signal, emit } = drawing;
  const { values } = resolved.event;
  const { previews = 0, seed } = resolved.request;
  const show = previews > 0 ? preview(drawing, sample) : null;
  return sampleLatentsOf({
    device: components.device,
    autoencoder,
    shape: shapeOfLatents(latents, values),
    plan,
    strength: values.strength,
    encoded,
    noise: (values.generatorDevice === 'cuda' ? cudaNoise : cpuNoise)(seed + sample),
    options,
    signal,
    predictor: (latents, output, extra) => record(latents, output, extra, options),
    preview: show && { most: previews, show },
    onStep: (step) => emit({ type: 'step', sample, ...step }),
  });
}

/** The image to start from, and what inpainting needs of it and of the mask. */
async function encodeImages(drawing: Drawing, image: Pixels): Promise<Encoded> {
  const { components, autoencoder, options, runner, mask, tiling } = drawing;
  const { device } = components;
  return components.use(
    autoencoder.component,
    'encoder',
    (table) => autoencoder.encoder(table),
    async (encode) => {
      const held = createHeld(device);
      try {
        const upload = uploadImage(device, image);
        held.hold(upload.bytes);
        const kept = mask && runner.fillsMasks ? held.hold(keptPixels(drawing, mask)) : null;
        const one = held.hold(device.tensor('step', 'one', [1], Float32Array.of(1)));
        const run = (way: ComputeOptions, notFinite: Region): Promise<Tensor[]> =>
          compute(device, way, (tape) => {
            const x = upload.on(tape);
            const inputs = kept ? [x, scaleRows(x, kept.region!)] : [x];
            return inputs.map((given) => linearCombination([encode(given, tiling)], one.region!, notFinite));
          });
        return await orFree(device, async ({ hold, later }) => {
          const made = await finitely(device, options, 'the encoder', run, (tensors) =>
            freeTensors(device, tensors),
          );
          later(() => freeTensors(device, made));
          const [first, masked = null] = made;
          return { image: first!, mask: mask && { latents: hold(maskLatents(drawing, mask)), masked } };
        });
      } finally {
        held.free();
      }
    },
  );
}

const isMasked = (mask: Pixels, at: number): boolean => mask.data[3 * at]! >= 128;

/** 0 for each pixel that is drawn anew: an image times it has the middle of the range there. */
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
