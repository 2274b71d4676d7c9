// Captions of Z-Image: the states of a Qwen3 language model before its last layer, for a prompt written as a user's message.

import { readChatTemplates } from '../../../files/checkpoint/checkpoint.ts';
import { EngineError } from '../../../files/error.ts';
import { openChatTemplate, type ChatTemplate } from '../../../files/template/template.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import type { TextDeclaration } from '../../../models/text/architecture.ts';
import { readText } from '../../../models/text/registry.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { textStates } from '../../text/step/states.ts';
import { compute, finitely, freeTensors, type ComputeOptions } from '../compute.ts';
import type { ComponentAccess } from '../components.ts';
import { Scope } from '../scope.ts';
import type { RunRequest } from './family.ts';

/** Default limit on the tokens of a prompt. */
const MOST_TOKENS = 512;

/** Opens the chat template that formats the prompt as a user's message. Throws bad_checkpoint if there is none that can be read. */
export async function openTemplate(
  components: ComponentAccess,
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

/** Throws bad_checkpoint for weights that do not match the encoder's configuration. */
export function checkEncoder(components: ComponentAccess): void {
  const config = encoderConfig(components);
  components.check('text_encoder', (table) => encoderPage(config, table));
}

function encoderConfig(components: ComponentAccess): TextDeclaration {
  const { className, config } = components.get('text_encoder');
  return readText(config, className);
}

/** Captions are the states before the last layer. */
function encoderPage(config: TextDeclaration, table: WeightTable) {
  return config.states!(table, config.layers.length - 1);
}

/** Returns the states of each text, [1, tokens, columns]; at most `maxSequenceLength` tokens of a text are read. */
export async function encodeCaptions(
  components: ComponentAccess,
  texts: readonly string[],
  { maxSequenceLength = MOST_TOKENS, options }: Pick<RunRequest, 'maxSequenceLength' | 'options'>,
): Promise<Tensor[]> {
  const { device } = components;
  const config = encoderConfig(components);
  const { tokenizer, template } = await openTemplate(components);
  using inputs = new Scope(device);
  const one = inputs.hold(device.tensor('step', 'one', [1], Float32Array.of(1)));
  const build = (table: WeightTable) => encoderPage(config, table);
  using encoder = await components.load('text_encoder', 'states', build, options);
  using results = new Scope(device);
  const captions: Tensor[] = [];
  for (const text of texts) {
    const rendered = template.render({
      messages: [{ role: 'user', content: text }],
      kwargs: { enable_thinking: true },
    });
    const ids = tokenizer.encode(rendered, { addSpecialTokens: false }).slice(0, maxSequenceLength);
    const encode = async (way: ComputeOptions, notFinite: Region): Promise<Tensor> => {
      using given = new Scope(device);
      const made = given.hold(await textStates(device, config, encoder.page, ids, way));
      const [states] = await compute(device, way, (tape) => [
        linearCombination([made.on(tape)], one.region!, notFinite),
      ]);
      return states!;
    };
    const free = (made: Tensor): void => freeTensors(device, [made]);
    captions.push(results.hold(await finitely(device, options, 'the text encoder', encode, free)));
  }
  results.move(); // the caller frees them
  return captions;
}
