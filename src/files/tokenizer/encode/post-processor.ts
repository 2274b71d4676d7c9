// The post-processors of tokenizer.json: what stands around a plain prompt, BOS and EOS mostly.

import { UnknownKind } from './unknown-kind.ts';
import { isRecord } from '../../source.ts';
import { partType } from './part-type.ts';

export type PostProcessor = (ids: number[]) => number[];

/** Tokens that a post-processor may name. */
interface Tokens {
  idOf(token: string): number | null;
  /** Highest token id. */
  highest: number;
}

/** For one text. null: nothing is added. Throws for a kind that nobody knows, and for a token that is none. */
export function createPostProcessor(config: unknown, tokens: Tokens): PostProcessor | null {
  if (config === null || config === undefined) return null;
  if (!isRecord(config)) throw new Error('the post_processor is not an object');
  const type = partType('post_processor', config);
  switch (type) {
    case 'ByteLevel':
      return null;
    case 'Sequence': {
      const parts = Array.isArray(config['processors']) ? config['processors'] : [];
      const steps = parts.flatMap((part) => createPostProcessor(part, tokens) ?? []);
      return (ids) => steps.reduce((current, step) => step(current), ids);
    }
    case 'TemplateProcessing':
      return template(config, tokens);
    case 'BertProcessing':
    case 'RobertaProcessing': {
      const [begin, end] = [pairId(config['cls'], tokens), pairId(config['sep'], tokens)];
      return (ids) => [begin, ...ids, end];
    }
    default:
      throw new UnknownKind('PostProcessor type', type);
  }
}

/** `[token, id]`. */
function pairId(pair: unknown, tokens: Tokens): number {
  const [token, id] = Array.isArray(pair) ? (pair as unknown[]) : [];
  return typeof id === 'number' ? checked(id, tokens) : known(String(token), tokens);
}

function checked(id: unknown, { highest }: Tokens): number {
  if (Number.isInteger(id) && (id as number) >= 0 && (id as number) <= highest) return id as number;
  throw new Error(
    `the post_processor names the id ${JSON.stringify(id)}, and the tokens have 0 to ${highest}`,
  );
}

function template(config: Record<string, unknown>, tokens: Tokens): PostProcessor {
  const specials = isRecord(config['special_tokens']) ? config['special_tokens'] : {};
  const single = Array.isArray(config['single']) ? config['single'] : [];
  const before: number[] = [];
  const after: number[] = [];
  let texts = 0;
  for (const part of single as unknown[]) {
    if (!isRecord(part)) continue;
    if ('Sequence' in part) texts++;
    const named = part['SpecialToken'];
    if (!isRecord(named)) continue;
    const name = String(named['id']);
    const special = Object.hasOwn(specials, name) ? specials[name] : undefined;
    const ids =
      isRecord(special) && Array.isArray(special['ids'])
        ? special['ids'].map((id: unknown) => checked(id, tokens))
        : [known(name, tokens)];
    (texts > 0 ? after : before).push(...ids);
  }
  if (texts !== 1) throw new Error(`the post_processor's template for one text holds ${texts}`);
  return (ids) => [...before, ...ids, ...after];
}

function known(token: string, tokens: Tokens): number {
  const id = tokens.idOf(token);
  if (id === null) throw new Error(`the post_processor names ${JSON.stringify(token)}, which is not a token`);
  return id;
}
