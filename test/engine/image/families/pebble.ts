// An image family of the tests' own: its pipeline class, component names, configuration keys, pages and call arguments are declared here and
// nowhere in src/. A prompt is a bag of hashed words; the denoiser is two convolutions over latents, words and time.

import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAutoencoder } from '../../../../src/engine/image/blocks/autoencoder.ts';
import {
  COMMON,
  number,
  SIZE,
  text,
  type CallArguments,
} from '../../../../src/engine/image/calls/call-arguments.ts';
import type { ComponentAccess } from '../../../../src/engine/image/components/components.ts';
import { allocateTensor, compute, recordTape } from '../../../../src/engine/image/recording/compute.ts';
import { writeRows, type Predictor } from '../../../../src/engine/image/recording/stepper.ts';
import type {
  DenoiserPage,
  FamilyModel,
  ImageFamily,
  Prepared,
  RunRequest,
} from '../../../../src/engine/image/blocks/family.ts';
import { plainSigmas } from '../../../../src/engine/image/schedules/flow-sigmas.ts';
import { createScalars } from '../../../../src/engine/image/recording/scope.ts';
import { Scope } from '../../../../src/engine/image/recording/scope.ts';
import type { Tensor } from '../../../../src/gpu/tensor.ts';
import { concat } from '../../../../src/kernels/concat.ts';
import { conv2d } from '../../../../src/kernels/conv2d.ts';
import { linear } from '../../../../src/kernels/matmul.ts';
import { repeat } from '../../../../src/kernels/repeat.ts';
import { timestepEmbedding } from '../../../../src/kernels/timestep-embedding.ts';
import type { WeightTable } from '../../../../src/models/weights.ts';
import { tinyPipeline } from '../pipeline-golden.ts';

const BUCKETS = 32;
const WAVES = { flip: true, shift: 0, maxPeriod: 100 };

interface PebbleArguments extends CallArguments {
  flavour?: string;
  haste?: number;
}

function readerPage(weights: WeightTable) {
  const words = weights.matrix('words.weight', 8, BUCKETS);
  return (bag: Tensor): Tensor => linear(bag, words); // [1, 8]
}

function stonePage(channels: number, weights: WeightTable) {
  const inner = weights.conv('inner.weight', 16, channels + 16, 3);
  const outer = weights.conv('outer.weight', channels, 16, 1);
  /** x [frames, h, w, channels], conditions [1, 8], time [1, 1] → [frames, h, w, channels] */
  return (x: Tensor, conditions: Tensor, time: Tensor, scalars: Parameters<typeof repeat>[2]): Tensor => {
    const pixels = x.rows({});
    const told = concat(conditions, timestepEmbedding(time, 8, WAVES));
    const everywhere = repeat(told, pixels, scalars, 0);
    return conv2d(conv2d(concat(x, everywhere), inner, { activation: 'silu' }), outer);
  };
}

class PebbleModel implements FamilyModel {
  readonly latentChannels: number;
  readonly fillsMasks = false;
  readonly sampleSize = null;
  readonly mostClipSkip = 0;
  readonly unreadClipLayers = 0;
  private readonly components: ComponentAccess;

  constructor(components: ComponentAccess) {
    this.components = components;
    this.latentChannels = components.get('stone').config['grains'] as number;
  }

  guides(): boolean {
    return false;
  }

  async checkFiles(): Promise<void> {
    this.components.check('reader', readerPage);
    this.components.check('stone', (table) => stonePage(this.latentChannels, table));
  }

  async prepare({ prompt, call, options }: RunRequest): Promise<Prepared> {
    const { device } = this.components;
    const { flavour = '' }: PebbleArguments = call;
    const words = `${prompt} ${flavour}`.split(/\s+/).filter((word) => word !== '');
    using inputs = new Scope(device);
    const counts = new Float32Array(BUCKETS);
    for (const word of words)
      counts[Buffer.from(word).reduce((sum, byte) => 7 * sum + byte, 0) % BUCKETS]! += 1;
    const bag = inputs.hold(device.tensor('step', 'bag', [1, BUCKETS], counts));
    using reader = await this.components.load('reader', 'words', readerPage, options);
    const [conditions] = await compute(device, options, (tape) => [reader.page(bag.on(tape))]);
    const owner = new Scope(device);
    owner.hold(conditions!);
    return {
      tokens: words.length,
      texts: [{ states: conditions! }],
      load: () => this.load(conditions!, call, options),
      [Symbol.dispose]: () => owner[Symbol.dispose](),
    };
  }

  private async load(
    conditions: Tensor,
    { haste = 1 }: PebbleArguments,
    options: RunRequest['options'],
  ): Promise<DenoiserPage> {
    const { device } = this.components;
    const build = (table: WeightTable) => stonePage(this.latentChannels, table);
    const weights = await this.components.load('stone', 'denoiser', build, options);
    return {
      async record({ latents, output }, way): Promise<Predictor> {
        using scope = new Scope(device);
        const scalars = scope.use(createScalars(device, 'scalars of a step', 1));
        const time = scope.hold(allocateTensor(device, 'time step', [1, 1]));
        const recording = scope.use(
          await recordTape(
            device,
            way,
            (tape) => [weights.page(latents.on(tape), conditions.on(tape), time.on(tape), scalars.region)],
            [output],
          ),
        );
        const owner = scope.move();
        return {
          run({ timestep }) {
            scalars.write([1]);
            writeRows(device, time, Float32Array.of((haste * timestep) / 1000));
            return recording.run();
          },
          times: () => recording.times(),
          [Symbol.dispose]: () => owner[Symbol.dispose](),
        };
      },
      [Symbol.dispose]: () => weights[Symbol.dispose](),
    };
  }
}

export const pebble: ImageFamily = {
  name: 'pebble',
  modelIds: /pebble/i,
  components: {
    reader: { kind: 'model', library: 'transformers', classes: ['PebbleReader'] },
    stone: { kind: 'model', library: 'diffusers', classes: ['PebbleStone2DModel'] },
    codec: { kind: 'model', library: 'diffusers', classes: ['AutoencoderKL'] },
    scheduler: { kind: 'scheduler', library: 'diffusers', classes: null },
  },
  denoiser: 'stone',
  autoencoder: 'codec',
  readAutoencoder,
  latents: { patch: 2 },
  pipelines: [
    {
      classes: { 'text-to-image': 'PebblePipeline' },
      strength: 'ceil',
      callArguments: () => ({
        ...COMMON,
        ...SIZE,
        flavour: text({ call: 'flavour' }),
        haste: number('a number above 0', (value) => value > 0, { call: 'haste' }),
      }),
    },
  ],
  defaults: { steps: 3, guidance: 0, size: 32 },
  namedDefaults: [[/pebble-swift/i, { steps: 2 }]],
  takes: [],
  readsEmphasis: false,
  sigmas: plainSigmas,
  open: (components) => new PebbleModel(components),
};

/** Random numbers that are the same in each run, from −scale to scale. */
function randoms(count: number, scale: number, seed: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return scale * ((2 * state) / 2 ** 32 - 1);
  });
}

function safetensors(
  tensors: Readonly<Record<string, readonly [shape: number[], scale: number]>>,
): Uint8Array {
  const header: Record<string, unknown> = {};
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const [i, [name, [shape, scale]]] of Object.entries(tensors).entries()) {
    const values = randoms(
      shape.reduce((product, length) => product * length, 1),
      scale,
      i + 1,
    );
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + values.byteLength] };
    at += values.byteLength;
    parts.push(new Uint8Array(values.buffer));
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, ...parts]);
}

/**
 * A pipeline folder of the family with random weights, below a new temporary folder, which is returned too. `codec`: class of the autoencoder
 * and the tiny checkpoint that it is copied from.
 */
export function writePebble(
  name: string,
  { pipeline = 'PebblePipeline', codec = ['AutoencoderKL', 'sd1'] as readonly [string, string] } = {},
): { root: string; model: string } {
  const root = mkdtempSync(join(tmpdir(), 'svc-pebble-'));
  const model = join(root, name);
  const json = (file: string, value: object): void => writeFileSync(join(model, file), JSON.stringify(value));
  for (const folder of ['reader', 'stone']) mkdirSync(join(model, folder), { recursive: true });
  json('model_index.json', {
    _class_name: pipeline,
    reader: ['transformers', 'PebbleReader'],
    stone: ['diffusers', 'PebbleStone2DModel'],
    codec: ['diffusers', codec[0]],
    scheduler: ['diffusers', 'FlowMatchEulerDiscreteScheduler'],
  });
  json('reader/config.json', { architectures: ['PebbleReader'] });
  json('stone/config.json', { _class_name: 'PebbleStone2DModel', grains: 4 });
  cpSync(join(tinyPipeline(codec[1]), 'vae'), join(model, 'codec'), { recursive: true });
  cpSync(join(tinyPipeline('z-image'), 'scheduler'), join(model, 'scheduler'), { recursive: true });
  writeFileSync(join(model, 'reader/model.safetensors'), safetensors({ 'words.weight': [[8, BUCKETS], 1] }));
  writeFileSync(
    join(model, 'stone/diffusion_pytorch_model.safetensors'),
    safetensors({
      'inner.weight': [[16, 20, 3, 3], 0.3],
      'inner.bias': [[16], 0.1],
      'outer.weight': [[4, 16, 1, 1], 0.5],
      'outer.bias': [[4], 0.1],
    }),
  );
  return { root, model };
}
