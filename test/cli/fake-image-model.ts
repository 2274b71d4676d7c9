// An image model without a model: every image is one colour, by its seed, and some prompts make it misbehave.
//   "fail C P"  after the first step it fails with the EngineError code C, of the parameter P if there is one
//   "refuse C"  `resolve` fails with C
//   "crash"     it throws something nobody foresaw
//   "hang"      after the first step it says nothing until it is aborted
//   "knows X"   it does not know X; where that is a plural, it knows the singular
//   "note X"    it notes that the field X is worth a look

import {
  EngineError,
  type ErrorCode,
  type ImageMemoryPlan,
  type ImageEvent,
  type ImageModel,
  type ImageModelInfo,
  type ImageModelOptions,
  type ImageRequest,
  type ResolvedImageRequest,
  type ValueSource,
} from '../../src/index.ts';
import { field, noteOf, say } from '../../src/files/message.ts';
import type { CompleteImageRequest } from '../../src/engine/image/calls/image-model.ts';
import { upscaledSize } from '../../src/options/upscaled-size.ts';
import { sizeFrom } from '../../src/engine/image/request/size.ts';
import type { OpenImageModel } from '../../src/cli/generate/generate.ts';
import { fakeAdapter } from '../server/fake-model.ts';

const STEPS = 20;

const fakeInfo: ImageModelInfo = {
  kind: 'image',
  path: '/models/fake-scenes',
  name: 'fake-scenes',
  pipeline: 'StableDiffusionPipeline',
  denoiser: 'UNet2DConditionModel',
  parameters: 9_000_000,
  quantization: 'none',
  backend: 'svc',
  sizeMultiple: 8,
  unreadClipLayers: 0,
  defaults: { width: 32, height: 24, steps: STEPS, guidance: 5, negativePrompt: '' },
  frameMultiple: null,
  schedulers: ['DDIM', 'EulerDiscrete'],
  components: { unet: 'UNet2DConditionModel', vae: 'AutoencoderKL' },
  words: null,
  supports: { imageToImage: true, inpainting: true, negativePrompt: true, edits: 0 },
  memory: { budget: 2 ** 30, weights: 18_000_000 },
  upscaler: { path: 'fake-upscaler.safetensors', scale: 4 },
  adapter: fakeAdapter,
};

/** The command line and the server give a seed and decoded images. */
const complete = (request: ImageRequest): CompleteImageRequest => request as CompleteImageRequest;

/** Frames and frames in a second of a model that draws clips. */
export type ClipDefaults = Pick<ImageModelInfo['defaults'], 'frames' | 'fps'>;

function resolve(
  request: CompleteImageRequest,
  { frames = 1, fps }: ClipDefaults,
): Extract<ImageEvent, { type: 'resolved' }> {
  const [command, code] = request.prompt.split(' ');
  if (command === 'refuse') throw new EngineError(code as ErrorCode, `refused with ${code}`);
  const sources = {} as Record<keyof ResolvedImageRequest, ValueSource>;
  const from = <T>(
    key: keyof ResolvedImageRequest & keyof CompleteImageRequest,
    otherwise: T,
    source: ValueSource,
  ): T => {
    const given = request[key];
    sources[key] = given === undefined ? source : 'request';
    return given === undefined ? otherwise : (given as T);
  };
  sources.backend = 'model';
  const size = request.image ? sizeFrom(request.image, request, fakeInfo) : { width: 32, height: 24 };
  const values: ResolvedImageRequest = {
    width: from('width', size.width, 'model'),
    height: from('height', size.height, 'model'),
    frames: from('frames', frames, 'contract'),
    fps: from<number | null>('fps', fps ?? (request.frames === undefined ? null : 16), 'contract'),
    steps: from('steps', STEPS, 'model'),
    guidance: from('guidance', 7.5, 'contract'),
    guidanceRescale: from('guidanceRescale', 0, 'contract'),
    negativePrompt: from('negativePrompt', '', 'contract'),
    scheduler: from('scheduler', 'DDIM', 'model'),
    strength: from<number | null>('strength', request.image ? 0.8 : null, 'contract'),
    clipSkip: from('clipSkip', 0, 'contract'),
    samples: from('samples', 1, 'contract'),
    generatorDevice: from<'cpu' | 'cuda'>('generatorDevice', 'cpu', 'contract'),
    upscalingScale: request.enableUpscaling ? (request.upscalingScale ?? 4) : null,
    backend: 'svc',
  };
  sources.upscalingScale = request.upscalingScale === undefined ? 'model' : 'request';
  for (const key of ['width', 'height'] as const) {
    if (values[key] > 16384) {
      throw new EngineError('bad_request', `${key} is ${values[key]}; at most 16384`, { param: key });
    }
    const below = values[key] - (values[key] % 8);
    if (below === values[key]) continue;
    throw new EngineError(
      'bad_request',
      `${key} is ${values[key]}; the nearest are ${below} and ${below + 8}`,
      { param: key },
    );
  }
  return { type: 'resolved', values, sources, reasons: {} };
}

async function* draw(
  request: CompleteImageRequest,
  clips: ClipDefaults,
  signal?: AbortSignal,
): AsyncGenerator<ImageEvent, void, void> {
  const event = resolve(request, clips);
  const { values } = event;
  const [command, argument = '', param] = request.prompt.split(' ');
  yield event;
  const known = argument.endsWith('s') && { known: { [argument]: argument.slice(0, -1) } };
  if (command === 'note') yield noteOf(say`see ${field(argument)}`);
  if (command === 'knows') yield { type: 'unknown-words', words: [argument], ...known };
  yield { type: 'stage', name: 'text-encoding', milliseconds: 5, peakBytes: 2 ** 20, attention: [] };
  const { width, height, frames, steps } = values;
  const each = (width * height) / 64;
  yield { type: 'tokens', text: request.prompt.split(' ').length, image: request.image ? each : 0, each };
  const large = upscaledSize(values);
  const image = (seed: number, shrunk = 1, of = { width, height }) => ({
    width: of.width / shrunk,
    height: of.height / shrunk,
    ...(frames > 1 && { frames }),
    // Frames of one colour that are equal would be one in a file.
    data: new Uint8Array((3 * frames * of.width * of.height) / shrunk ** 2).map(
      (_, i) => seed + 60 * Math.floor((i * shrunk ** 2) / (3 * of.width * of.height)),
    ),
  });
  for (let sample = 0; sample < values.samples; sample += 1) {
    for (let step = 1; step <= steps; step += 1) {
      if (step > 1 && command === 'fail')
        throw new EngineError(argument as ErrorCode, `failed with ${argument}`, param ? { param } : {});
      if (step > 1 && command === 'crash') throw new TypeError('nobody foresaw this');
      if (step > 1 && command === 'hang') await untilAborted(signal);
      if (signal?.aborted) throw new EngineError('cancelled', 'cancelled');
      const reused = request.enableTeacache && { reused: step > 1 ? 1 : 0 };
      yield { type: 'step', sample, step, steps, milliseconds: 10, ...reused };
      if (request.previews) yield { type: 'preview', sample, step, image: image(step, 4) };
    }
  }
  yield {
    type: 'stage',
    name: 'denoising',
    milliseconds: 10 * steps,
    peakBytes: 3 * 2 ** 20,
    attention: ['flash'],
  };
  yield { type: 'stage', name: 'decoding', milliseconds: 7, peakBytes: 2 * 2 ** 20, attention: [] };
  if (command === 'ranks')
    yield { type: 'exchange', ranks: 2, calls: 6, bytes: 2 * 2 ** 20, milliseconds: 5 };
  for (let sample = 0; sample < values.samples; sample += 1) {
    const seed = request.seed + sample;
    const replica = command === 'ranks' && { replica: sample };
    yield { type: 'image', sample, seed, image: image(seed, 1, large), ...replica };
  }
  yield { type: 'kernels', milliseconds: { conv2d: 3, matmul: 1.5 }, spent: 0 };
  yield { type: 'done', milliseconds: 300 };
}

function untilAborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    // The timer keeps this process alive.
    const timer = setTimeout(resolve, 60_000);
    signal?.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
  });
}

export const fakePlan: ImageMemoryPlan = {
  budget: 8 * 2 ** 30,
  batch: 4,
  peak: 7 * 2 ** 30,
  host: 12 * 2 ** 30,
  stages: [
    { name: 'text-encoding', bytes: 2 ** 30 },
    { name: 'denoising', bytes: 7 * 2 ** 30 },
    { name: 'decoding', bytes: 3 * 2 ** 29 },
  ],
  components: [
    {
      ...{ name: 'text_encoder', className: 'Qwen3Model', role: 'text encoder' },
      ...{ weights: 2 ** 29, place: 'loaded' },
    },
    {
      ...{ name: 'transformer', className: 'ZImageTransformer2DModel', role: 'denoiser' },
      ...{ weights: 12 * 2 ** 30, place: 'streamed', onDevice: 2 ** 30 },
    },
    { name: 'vae', className: 'AutoencoderKL', role: 'autoencoder', weights: 2 ** 27, place: 'resident' },
  ],
  prefetch: 1,
};

export interface FakeImageModel {
  open: OpenImageModel;
  /** Options with which the model was opened, one entry per run. */
  opened: ImageModelOptions[];
  requests: CompleteImageRequest[];
  warmUps: { steps: number; tune: boolean }[];
  closed: number;
}

/** `clips`: of a model that draws clips, of a number of frames that is odd. */
export function createFakeImageModel(clips: ClipDefaults = {}): FakeImageModel {
  const fake: FakeImageModel = {
    opened: [],
    requests: [],
    warmUps: [],
    closed: 0,
    open(options, onEvent = () => {}) {
      fake.opened.push(options);
      for (let bytes = 0; bytes <= 18_000_000; bytes += 1_000_000) {
        onEvent({ type: 'load', bytes, totalBytes: 18_000_000 });
      }
      if (options.model === 'language') {
        return Promise.reject(new EngineError('unsupported', 'language is a language model'));
      }
      const model: ImageModel = {
        info: {
          ...fakeInfo,
          ...(clips.frames !== undefined && { frameMultiple: 2 }),
          defaults: { ...fakeInfo.defaults, ...clips },
          backend: options.backend === 'generic' ? 'generic' : 'svc',
          unreadClipLayers: options.model === 'xl' ? 1 : 0,
        },
        ended: new Promise(() => {}),
        asleep: false,
        resolve: async (request) => resolve(complete(request), clips),
        plan: async () => fakePlan,
        warmUp: async (_, steps, { tune = false } = {}) => void fake.warmUps.push({ steps, tune }),
        async *generate(request, { signal } = {}) {
          fake.requests.push(complete(request));
          for (const done of [0, 1]) onEvent({ type: 'warmup', done, total: 1, stage: 'denoising' });
          yield* draw(complete(request), clips, signal);
        },
        close: async () => void (fake.closed += 1),
        [Symbol.asyncDispose]: () => model.close(),
      };
      return Promise.resolve(model);
    },
  };
  return fake;
}
