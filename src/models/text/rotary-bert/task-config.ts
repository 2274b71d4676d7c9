// The tasks for which a checkpoint has LoRAs, as config.json of Jina Embeddings v3 names them.

import { isJsonObject, type ConfigReader } from '../../config-values.ts';
import type { TextTasks } from '../blocks/architecture.ts';

/** Limit on the tasks of a model. */
const MOST_TASKS = 64;

/** null: the model has none. Errors: bad_checkpoint. */
export function readTasks(config: ConfigReader): TextTasks | null {
  const { lora_adaptations: names, task_instructions: stated, lora_alpha: alpha = 1 } = config.values;
  if (names == null) return null;
  const isList = Array.isArray(names) && names.length > 0 && names.length <= MOST_TASKS;
  if (!isList || !names.every((name) => typeof name === 'string'))
    throw config.error(
      'bad_checkpoint',
      'lora_adaptations',
      `is ${JSON.stringify(names).slice(0, 200)}, up to ${MOST_TASKS} names of tasks are needed`,
    );
  if (typeof alpha !== 'number' || !(Math.abs(alpha) < 2 ** 16))
    throw config.error('bad_checkpoint', 'lora_alpha', `is ${JSON.stringify(alpha)}, a number is needed`);
  const prompts = Object.entries(isJsonObject(stated) ? stated : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  const rank = config.count('lora_rank', 4);
  return {
    names,
    prompts: Object.fromEntries(prompts),
    rank,
    scale: alpha / rank,
    own: /_embeddings\.weight$/,
  };
}
