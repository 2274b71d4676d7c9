// Captions of Z-Image: the states of a Qwen3 language model before its last layer, for a prompt written as a user's message.

import { readFolderTemplates } from '../../../../files/checkpoint/checkpoint.ts';
import { EngineError } from '../../../../files/error.ts';
import { openChatTemplate, type ChatTemplate } from '../../../../files/template/template.ts';
import type { Tokenizer } from '../../../../files/tokenizer/tokenizer.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import type { TextDeclaration } from '../../../../models/text/blocks/architecture.ts';
import { readText } from '../../../../models/text/registry.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { RunRequest } from '../../blocks/family.ts';
import { encodeStates } from '../../blocks/text-states.ts';

/** Default limit on the tokens of a prompt. */
const MOST_TOKENS = 512;

/**
 * Opens the chat template that formats the prompt as a user's message. Throws bad_checkpoint if there is none that can be read; so does `render`
 * if the template refuses the message.
 */
export async function openTemplate(
  components: ComponentAccess,
): Promise<{ tokenizer: Tokenizer; template: Pick<ChatTemplate, 'render'> }> {
  const param = 'tokenizer/tokenizer_config.json';
  const { folder, config } = components.get('tokenizer');
  const tokenizer = await components.tokenizer('tokenizer');
  const source = await readFolderTemplates(folder, config);
  if (source === null) {
    const message = `${folder.path} has no chat template, which prompts are written into: fetch the pipeline again`;
    throw new EngineError('bad_checkpoint', message, { param });
  }
  const template = openChatTemplate(source, tokenizer.specials);
  if (template.problem !== null) throw template.problem.underName(folder.path);
  const render: ChatTemplate['render'] = (rendering, options) => {
    try {
      return template.render(rendering, options);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      // The conversation is that of the pipeline, so that a refusal is the template's fault and not the prompt's.
      throw new EngineError('bad_checkpoint', `${folder.path}: ${error.message}`, { param, cause: error });
    }
  };
  return { tokenizer, template: { render } };
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
  return config.states!(table, [config.layers.length - 1]);
}

/** Returns the states of each text, [1, tokens, columns]; at most `maxSequenceLength` tokens of a text are read. */
export async function encodeCaptions(
  components: ComponentAccess,
  texts: readonly string[],
  { maxSequenceLength = MOST_TOKENS, options }: Pick<RunRequest, 'maxSequenceLength' | 'options'>,
): Promise<Tensor[]> {
  const declaration = encoderConfig(components);
  const { tokenizer, template } = await openTemplate(components);
  const idsOf = (text: string): number[] => {
    const rendered = template.render({
      messages: [{ role: 'user', content: text }],
      kwargs: { enable_thinking: true },
    });
    return tokenizer.encode(rendered, { addSpecialTokens: false }).slice(0, maxSequenceLength);
  };
  return encodeStates(components, {
    component: 'text_encoder',
    declaration,
    page: (table) => encoderPage(declaration, table),
    texts: texts.map((text) => ({ ids: idsOf(text) })),
    options,
  });
}
