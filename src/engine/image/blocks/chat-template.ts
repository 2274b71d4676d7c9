// Chat templates of pipelines whose prompts are messages to a language model.

import { readFolderTemplates } from '../../../files/checkpoint/checkpoint.ts';
import { badCheckpoint, EngineError } from '../../../files/error.ts';
import { openChatTemplate, type ChatTemplate } from '../../../files/template/template.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { ComponentAccess } from '../components/components.ts';

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
    throw badCheckpoint(message, param);
  }
  const template = openChatTemplate(source, tokenizer.specials);
  if (template.problem !== null) throw template.problem.underName(folder.path);
  const render: ChatTemplate['render'] = (rendering, options) => {
    try {
      return template.render(rendering, options);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      // The conversation is that of the pipeline, so that a refusal is the template's fault and not the prompt's.
      throw badCheckpoint(`${folder.path}: ${error.message}`, param, error);
    }
  };
  return { tokenizer, template: { render } };
}
