// The files of a text model, which outlive its device: checkpoint, declaration, tokenizer, chat template, output formats.

import type { Checkpoint } from '../../files/checkpoint/checkpoint.ts';
import { openSourceTemplate } from '../../files/template/single-template.ts';
import { openChatTemplate } from '../../files/template/template.ts';
import { checkVocabularySize } from '../../files/tokenizer/token-ids.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';
import { readText } from '../../models/text/registry.ts';
import { endTokens, suppressedTokens } from './request/defaults.ts';
import { detectFormats, FORMAT_TABLES, outputFormat, type FormatTables } from './output/detect.ts';
import type { DraftModelSource } from './step/runner-drafts.ts';
import { openMedia, withMedia } from './towers/text-media.ts';
import type { RequestContext } from './request/request-context.ts';
import type { TextModelOptions } from './calls/text-model.ts';
import { untieStoredHead } from '../opening/tied-head.ts';

type Speech = Pick<RequestContext, 'tokenizer' | 'template' | 'output' | 'endIds' | 'suppressedIds'>;

export type TextFiles = Awaited<ReturnType<typeof readTextFiles>>;

/** Reads the files. `formats`: the output formats that there are. Errors: bad_checkpoint, unsupported, bad_request for an option that names an unknown output format. Without `media` the model takes text only. */
export async function readTextFiles(
  checkpoint: Checkpoint,
  options: TextModelOptions,
  note: (message: string) => void,
  formats = FORMAT_TABLES,
) {
  const stated = readText(checkpoint.config, checkpoint.architecture, checkpoint.configSource);
  const config = await untieStoredHead(stated, checkpoint.tensors, note);
  const media = await openMedia(checkpoint, config, note);
  const speech = await readSpeech(checkpoint, config, options, formats);
  return {
    checkpoint,
    config: withMedia(config, media),
    speech,
    media,
    draft: null as DraftModelSource | null,
  };
}

/**
 * Opens the tokenizer, the chat template and the output formats before the weights are read, so that an unknown format is refused
 * early.
 */
async function readSpeech(
  checkpoint: Checkpoint,
  declaration: TextDeclaration,
  { toolCallParser: tools, reasoningParser: reasoning }: TextModelOptions,
  formats: FormatTables,
): Promise<Speech> {
  const { vocabulary, source } = declaration;
  const tokenizer = await checkpoint.tokenizer();
  checkVocabularySize(tokenizer, vocabulary);
  const template =
    source && checkpoint.chatTemplate === null
      ? openSourceTemplate()
      : openChatTemplate(checkpoint.chatTemplate, tokenizer.specials, tokenizer.chat);
  const detected = detectFormats(template.source, (text) => tokenizer.tokenToId(text) !== null, formats);
  const output = outputFormat({ tools, reasoning }, detected, formats);
  return {
    ...{ tokenizer, template, output },
    endIds: endTokens(checkpoint, tokenizer, vocabulary),
    suppressedIds: suppressedTokens(checkpoint, vocabulary),
  };
}
