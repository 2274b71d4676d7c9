// Z-Image: the states of a Qwen3 language model before its last layer, and a transformer over image and caption.

import { readChatTemplates } from '../../files/checkpoint/checkpoint.ts';
import { EngineError } from '../../files/error.ts';
import { openChatTemplate, type ChatTemplate } from '../../files/template/template.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { Region, Tensor } from '../../gpu/tensor.ts';
import { limitLength } from '../../kernels/guidance.ts';
import { linearCombination } from '../../kernels/linear-combination.ts';
import { repeat } from '../../kernels/repeat.ts';
import type { TextDeclaration } from '../../models/text/architecture.ts';
import { readText } from '../../models/text/registry.ts';
import { readZImageConfig, type ZImageConfig } from '../../models/image/z-image-config.ts';
import { zImageRotations } from '../../models/image/z-image-rope.ts';
import type { WeightTable } from '../../models/weights.ts';
import { zImage, type ZImage } from '../../models/image/z-image.ts';
import { textStates } from '../text/step/states.ts';
import {
  allocateTensor,
  compute,
  finitely,
  freeTensors,
  recordTape,
  type ComputeOptions,
} from './compute.ts';
import type { Components } from './components.ts';
import { writeRows, type Predictor } from './denoise.ts';
import { orFree, type Held } from './held.ts';
import type { Prepared, Runner, RunRequest } from './runner.ts';
import { plainSigmas } from './schedules/flow-sigmas.ts';
import { createScalars } from './scalars.ts';

const PATCH = 2;
/** Tokens of a prompt that are read. */
const MOST_TOKENS = 512;
const TRAINED_STEPS = 1000;

const guides = (guidance: number): boolean => guidance > 0;

export function zImageRunner(components: Components): Runner {
  const { device } = components;
  const config = readZImageConfig(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => zImage(config, table);

  return {
    latentChannels: config.channels,
    fillsMasks: false,
    sampleSize: null,
    mostClipSkip: 0,
    zerosNegative: false,
    guides,
    flow: { tokens: (height, width) => (height / PATCH) * (width / PATCH), sigmas: plainSigmas },
    async checkFiles() {
      await openTemplate(components);
      const encoder = encoderConfig(components);
      components.check('text_encoder', (table) => encoderPage(encoder, table));
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const captions = await encodeCaptions(components, request);
      return {
        tokens: captions[0]!.shape[1] as number,
        use: (body) =>
          components.use('transformer', 'denoiser', page, (forward) =>
            body((latents, output, _, options) =>
              zImagePredictor({
                ...{ components, config, page: forward, captions },
                ...{ request, latents, output, options },
              }),
            ),
          ),
        free: () => freeTensors(device, captions),
      };
    },
  };
}

/** What a prompt is written into, as a question of a chat. Throws where there is none, or none that can be read. */
async function openTemplate(
  components: Components,
): Promise<{ tokenizer: Tokenizer; template: ChatTemplate }> {
  const { folder, config } = components.get('tokenizer');
  const tokenizer = await components.tokenizer('tokenizer');
  const source = await readChatTemplates(folder, await folder.names(), config);
  if (source === null) {
    const message = `${folder.path} has no chat template, which prompts are written into: fetch the pipeline again`;
    throw new EngineError('bad_checkpoint', message, { param: 'tokenizer/tokenizer_config.json' });
  }
  const template = openChatTemplate(source, tokenizer.specials);
  if (template.problem !== null) throw template.problem.underName(folder.path);
  return { tokenizer, template };
}

function encoderConfig(components: Components): TextDeclaration {
  const { className, config } = components.get('text_encoder');
  return readText(config, className);
}

/** Captions are the states before the last layer. */
function encoderPage(config: TextDeclaration, table: WeightTable) {
  return config.states!(table, config.layers.length - 1);
}

/** States of the prompt and, where guidance is on, of what is not wanted; [1, tokens, columns] each. */
async function encodeCaptions(
  components: Components,
  { prompt, values, maxSequenceLength = MOST_TOKENS, options }: RunRequest,
): Promise<Tensor[]> {
  const { device } = components;
  const config = encoderConfig(components);
  const { tokenizer, template } = await openTemplate(components);
  const texts = guides(values.guidance) ? [prompt, values.negativePrompt] : [prompt];
  const one = device.tensor('step', 'one', [1], Float32Array.of(1));
  const encoded = components.use(
    'text_encoder',
    'states',
    (table) => encoderPage(config, table),
    (forward) =>
      orFree(device, async (held) => {
        const states: Tensor[] = [];
        for (const text of texts) {
          const rendered = template.render({
            messages: [{ role: 'user', content: text }],
            kwargs: { enable_thinking: true },
          });
          const ids = tokenizer.encode(rendered, { addSpecialTokens: false });
          const read = ids.slice(0, maxSequenceLength);
          const encode = async (way: ComputeOptions, notFinite: Region): Promise<Tensor> => {
            const made = await textStates(device, config, forward, read, way);
            const checked = compute(device, way, (tape) => [
              linearCombination([made.on(tape)], one.region!, notFinite),
            ]);
            const [states] = await checked.finally(() => freeTensors(device, [made]));
            return states!;
          };
          const free = (made: Tensor): void => freeTensors(device, [made]);
          states.push(held.hold(await finitely(device, options, 'the text encoder', encode, free)));
        }
        return states;
      }),
  );
  return encoded.finally(() => freeTensors(device, [one]));
}

interface PredictorRequest {
  components: Components;
  config: ZImageConfig;
  page: ZImage;
  captions: readonly Tensor[];
  request: RunRequest;
  latents: Tensor;
  output: Tensor;
  options: ComputeOptions;
}

/** Each caption has a pass of its own: they differ in length. */
function zImagePredictor(given: PredictorRequest): Promise<Predictor> {
  return orFree(given.components.device, (held) => record(given, held));
}

async function record(given: PredictorRequest, held: Held): Promise<Predictor> {
  const { components, config, page, captions, request, latents, output, options } = given;
  const { device } = components;
  const { guidance } = request.values;
  const { cfgNormalization = 0, cfgTruncation = 1 } = request.call;
  const sides: Side[] = [];
  for (const caption of captions) sides.push(await prepareSide(given, caption, held));
  const scalars = createScalars(device, 'scalars of a step', 2);
  held.later(scalars.free);
  const flag = held.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1)));
  const time = held.hold(allocateTensor(device, 'time step', [1, 1]));
  const recording = await recordTape(
    device,
    options,
    (tape) => {
      const predictions = sides.map(({ caption, image, joint }) =>
        page.forward(latents.on(tape), time.on(tape), caption.on(tape), {
          image: image.on(tape),
          joint: joint.on(tape),
        }),
      );
      const [positive] = predictions as [Tensor];
      // The model gives the way from the image; schedules want the way to noise.
      if (predictions.length === 1) return [repeat(positive, 1, scalars.region, 0)];
      const guided = linearCombination(predictions, scalars.region, flag.region!);
      if (cfgNormalization > 0) limitLength(guided, positive, cfgNormalization);
      return [guided];
    },
    [output],
  );
  held.later(recording.destroy);
  return {
    run({ timestep }) {
      const share = 1 - timestep / TRAINED_STEPS;
      const scale = cfgTruncation <= 1 && share > cfgTruncation ? 0 : guidance;
      scalars.write(sides.length === 1 ? [-1] : [-(1 + scale), scale]);
      writeRows(device, time, Float32Array.of(share * config.timeScale));
      recording.run();
    },
    times: recording.times,
    destroy: held.free,
  };
}

interface Side {
  /** [1, filled tokens, hidden] */
  caption: Tensor;
  image: Tensor;
  joint: Tensor;
}

async function prepareSide(
  { components, config, page, latents, options }: PredictorRequest,
  states: Tensor,
  held: Held,
): Promise<Side> {
  const { device } = components;
  const [, height, width] = latents.shape as number[];
  const tokens = states.shape[1] as number;
  const turns = zImageRotations(config, tokens, height! / PATCH, width! / PATCH);
  const table = (label: string, values: Float32Array): Tensor =>
    held.hold(device.tensor('step', label, [values.length / config.dims, config.dims], values));
  const rotations = table('rotations of a caption', turns.caption);
  const [caption] = await compute(device, options, (tape) => [
    page.condition(states.on(tape), rotations.on(tape)),
  ]);
  return {
    caption: held.hold(caption!),
    image: table('rotations of an image', turns.image),
    joint: table('rotations of both', turns.joint),
  };
}
