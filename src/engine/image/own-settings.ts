// What a model made for this engine says of itself beside model_index.json: svc.json (width, height, num_inference_steps,
// guidance_scale, negative_prompt) and words.txt, one word a line, all that it was ever told of.

import { EngineError } from '../../files/error.ts';
import { readJson, readText, type Folder } from '../../files/source.ts';
import type { ModelDefaults } from './resolve.ts';

export interface OwnSettings {
  defaults: Partial<ModelDefaults>;
  /** null: the model does not say. */
  words: ReadonlySet<string> | null;
}

const SETTINGS = 'svc.json';
const WORDS = 'words.txt';

const NUMBERS = {
  width: 'width',
  height: 'height',
  steps: 'num_inference_steps',
  guidance: 'guidance_scale',
} as const;

export async function ownSettings(folder: Folder): Promise<OwnSettings> {
  const names = await folder.names();
  const json = names.includes(SETTINGS) ? await readJson(folder, SETTINGS) : {};
  const defaults: Partial<ModelDefaults> = {};
  for (const [field, key] of Object.entries(NUMBERS) as [keyof typeof NUMBERS, string][]) {
    const value = json[key];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new EngineError(
        'bad_checkpoint',
        `${SETTINGS} in ${folder.path} has ${key} ${JSON.stringify(value)}, which is no number: correct it`,
        { param: key },
      );
    }
    defaults[field] = value;
  }
  if (typeof json['negative_prompt'] === 'string') defaults.negativePrompt = json['negative_prompt'];
  const words = names.includes(WORDS) ? (await readText(folder, WORDS)).toLowerCase().split(/\s+/) : null;
  return { defaults, words: words && new Set(words.filter((word) => word !== '')) };
}

/** Words of a prompt that are not among those known, in order, each once. */
export function unknownWords(prompt: string, known: ReadonlySet<string>): string[] {
  const words = prompt.toLowerCase().match(/\p{L}[\p{L}\p{M}'-]*/gu) ?? [];
  return [...new Set(words)].filter((word) => !known.has(word));
}
