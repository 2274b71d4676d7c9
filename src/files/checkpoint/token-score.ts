// The LogitScore module of sentence-transformers: a language model judges a text by the logits of one or two tokens, those of an answer "yes" and
// an answer "no" that would follow.

import { badCheckpoint, unsupported } from '../error.ts';
import { isRecord, readJson, type Folder } from '../source.ts';

export interface TokenScore {
  /** The token whose logit is the score. */
  yes: number;
  /** The token whose logit is taken from it; null: none. */
  no: number | null;
  /** Name of the function that makes a score of it; null: none is stated. */
  activation: string | null;
  /** What the model is told to judge by where a request does not say; null: what its template says. */
  instruction: string | null;
}

const SETTINGS = 'config_sentence_transformers.json';
const LOGITS = 'causal_logits';

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Errors: bad_checkpoint, unsupported. */
export async function readTokenScore(folder: Folder, path: string): Promise<TokenScore> {
  const file = `${path}/config.json`;
  const {
    true_token_id: yes,
    false_token_id: no = null,
    module_input_name: input = LOGITS,
  } = await readJson(folder, file);
  if (!isId(yes) || !(no === null || isId(no)))
    throw badCheckpoint(
      `${file} in ${folder.path} has no true_token_id and false_token_id that are token ids: put the published file in its place`,
      'true_token_id',
    );
  if (input !== LOGITS)
    throw unsupported(
      `${file} in ${folder.path}: module_input_name ${JSON.stringify(input)} is not built; choose a model that has ${LOGITS}`,
      'module_input_name',
    );
  return { yes, no, ...(await readSettings(folder)) };
}

async function readSettings(folder: Folder): Promise<Pick<TokenScore, 'activation' | 'instruction'>> {
  if (!(await folder.names()).includes(SETTINGS)) return { activation: null, instruction: null };
  const { activation_fn: activation, prompts, default_prompt_name: name } = await readJson(folder, SETTINGS);
  const prompt = isRecord(prompts) && typeof name === 'string' ? prompts[name] : undefined;
  return {
    activation: typeof activation === 'string' ? activation : null,
    instruction: typeof prompt === 'string' && prompt !== '' ? prompt : null,
  };
}
