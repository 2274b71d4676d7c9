// The usage error of `svc generate` without a model or a prompt: it names what is missing and shows a complete command, with the given
// values and examples for the others.

import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { shippedImageModelPath } from '../../index.ts';
import { UsageError } from '../process/exit.ts';
import type { GenerateOptions } from './generate-options.ts';

const EXAMPLE = 'a red balloon over snowy mountains';

export function missing(options: GenerateOptions, model: boolean, prompt: boolean): UsageError {
  const shipped = shippedImageModelPath();
  const inside = relative('.', shipped);
  const [path, what] = existsSync(shipped)
    ? [inside.startsWith('..') ? shipped : inside, 'the model that ships']
    : ['stable-diffusion-v1-5/stable-diffusion-v1-5', 'a model of the hub'];
  const names = [model ? '--model-path' : '', prompt ? '--prompt' : ''].filter(Boolean).join(' and ');
  const file = options.config === undefined ? '' : `, and ${options.config} does not say it either`;
  const words = ['--model-path', options['model-path'] ?? path];
  if (options['prompt-path'] !== undefined) words.push('--prompt-path', options['prompt-path']);
  else for (const text of options.prompt ?? [EXAMPLE]) words.push('--prompt', text);
  const command = ['npx svc-engine generate', ...words.map(shellWord)].join(' ');
  const does = model ? `draws with ${what}` : 'draws';
  return new UsageError(
    `${names} ${model && prompt ? 'are' : 'is'} missing${file}: for example \`${command}\` ${does}`,
  );
}

/** Quotes a word for a shell. */
function shellWord(text: string): string {
  if (/^[\w./:@%+,=-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", String.raw`'\''`)}'` : `"${text}"`;
}
