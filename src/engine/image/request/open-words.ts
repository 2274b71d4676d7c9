// Textual inversions that are opened with an image model.

import { badRequest, EngineError } from '../../../files/error.ts';
import { openEmbeddedWord, type EmbeddedWord } from '../../../files/pipeline/embedded-words.ts';
import { option } from '../../../files/message.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PipelineEntry } from '../families/registry.ts';
import type { ImageModelOptions } from '../calls/image-model.ts';

/** Opens the textual inversions of the options. Throws bad_request for a family without CLIP, and for two with one word. */
export async function openWords(
  platform: Pick<Platform, 'openFolder'>,
  { family }: Pick<PipelineEntry, 'family'>,
  { textualInversionPath: paths = [] }: ImageModelOptions,
  find: (path: string) => Promise<string>,
): Promise<EmbeddedWord[]> {
  const refuse = (message: string): never => {
    throw badRequest(message, 'textualInversionPath');
  };
  if (paths.length > 0 && !family.readsWords)
    refuse(
      `textual inversions are for Stable Diffusion 1, 2 and XL, and this is a model of ${family.name}: leave them out`,
    );
  const words: EmbeddedWord[] = [];
  for (const path of paths) {
    const found = await find(path).catch((error: unknown) => {
      throw underOption(error, 'textualInversionPath');
    });
    const word = await openEmbeddedWord(await platform.openFolder(found));
    const other = words.find((one) => one.word.toLowerCase() === word.word.toLowerCase());
    if (other)
      refuse(`${other.path} and ${word.path} both stand for the word ${word.word}: give one of them`);
    words.push(word);
  }
  return words;
}

/** Codes of errors about a model that was not found, or could not be fetched. */
const NOT_FOUND: readonly string[] = ['model_not_found', 'unsupported', 'bad_request', 'network'];

/**
 * Rewords an error of finding a model as one about the option that gives its path or hub id; returns other errors unchanged. `member`: the
 * member of the option that gives it.
 */
export function underOption(error: unknown, param: string, member?: string): unknown {
  if (!(error instanceof EngineError) || !NOT_FOUND.includes(error.code)) return error;
  const { code, cause } = error;
  const parts = member === undefined ? error.parts : [option(`${param}.${member}`), ': ', ...error.parts];
  return new EngineError(code, { parts }, { param, cause });
}
