// The post-processors of tokenizer.json: what stands around a plain prompt, BOS and EOS mostly, and around a pair of texts.

import { UnknownKind } from './unknown-kind.ts';
import { isRecord } from '../../source.ts';
import { partType } from './part-type.ts';

/** Tokens with the type of each: that of the text to which it belongs. */
export interface TypedIds {
  ids: number[];
  types: number[];
}

export interface PostProcessor {
  /** One text. */
  single(ids: number[]): number[];
  /** Two texts, one after the other. */
  pair(first: number[], second: number[]): TypedIds;
}

/** Tokens that a post-processor may name. */
interface Tokens {
  idOf(token: string): number | null;
  /** Highest token id. */
  highest: number;
}

/** Two texts without anything around them. */
export function plainPair(first: readonly number[], second: readonly number[]): TypedIds {
  return { ids: [...first, ...second], types: [...first.map(() => 0), ...second.map(() => 1)] };
}

/** null: nothing is added. Throws for a kind that nobody knows, and for a token that is none. */
export function createPostProcessor(config: unknown, tokens: Tokens): PostProcessor | null {
  if (config === null || config === undefined) return null;
  if (!isRecord(config)) throw new Error('the post_processor is not an object');
  const type = partType('post_processor', config);
  switch (type) {
    case 'ByteLevel':
      return null;
    case 'Sequence': {
      const parts = Array.isArray(config['processors']) ? config['processors'] : [];
      return sequence(parts.flatMap((part) => createPostProcessor(part, tokens) ?? []));
    }
    case 'TemplateProcessing':
      return template(config, tokens);
    case 'BertProcessing':
    case 'RobertaProcessing':
      return framed(type, pairId(config['cls'], tokens), pairId(config['sep'], tokens));
    default:
      throw new UnknownKind('PostProcessor type', type);
  }
}

/** The steps one after the other; the first of them joins a pair. */
function sequence(steps: readonly PostProcessor[]): PostProcessor | null {
  const [first, ...others] = steps;
  if (first === undefined || others.length === 0) return first ?? null;
  return {
    single: (ids) => steps.reduce((current, step) => step.single(current), ids),
    pair(one, two) {
      const joined = first.pair(one, two);
      const ids = others.reduce((current, step) => step.single(current), joined.ids);
      return { ids, types: ids.map((_, at) => joined.types[at] ?? 0) };
    },
  };
}

/** BERT's [CLS] A [SEP] B [SEP], and RoBERTa's <s> A </s> </s> B </s>, whose tokens are all of the first type. */
function framed(kind: 'BertProcessing' | 'RobertaProcessing', begin: number, end: number): PostProcessor {
  return {
    single: (ids) => [begin, ...ids, end],
    pair(first, second) {
      const ids = [begin, ...first, end, ...(kind === 'RobertaProcessing' ? [end] : []), ...second, end];
      const other = kind === 'BertProcessing' ? 1 : 0;
      return { ids, types: ids.map((_, at) => (at < first.length + 2 ? 0 : other)) };
    },
  };
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

/** A place in a template: the text of that number, or tokens. */
type Place = { type: number } & ({ text: 0 | 1 } | { ids: number[] });

/** A text in a template without one for pairs. */
const textPlace = (id: 'A' | 'B', type: number): unknown => ({ Sequence: { id, type_id: type } });

function template(config: Record<string, unknown>, tokens: Tokens): PostProcessor {
  const single = placesOf(config['single'], config['special_tokens'], tokens);
  const stated = config['pair'] ?? [textPlace('A', 0), textPlace('B', 1)];
  const pair = placesOf(stated, config['special_tokens'], tokens);
  const texts = single.filter((place) => 'text' in place).length;
  if (texts !== 1) throw new Error(`the post_processor's template for one text holds ${texts}`);
  return {
    single: (ids) => single.flatMap((place) => ('text' in place ? ids : place.ids)),
    pair(first, second) {
      const parts = pair.map((place) => {
        const ids = 'text' in place ? [first, second][place.text]! : place.ids;
        return { ids, types: ids.map(() => place.type) };
      });
      return { ids: parts.flatMap(({ ids }) => ids), types: parts.flatMap(({ types }) => types) };
    },
  };
}

function placesOf(stated: unknown, specialTokens: unknown, tokens: Tokens): Place[] {
  const specials = isRecord(specialTokens) ? specialTokens : {};
  return (Array.isArray(stated) ? (stated as unknown[]) : []).flatMap((part): Place[] => {
    if (!isRecord(part)) return [];
    const text = part['Sequence'];
    if (isRecord(text)) return [{ text: text['id'] === 'B' ? 1 : 0, type: typeOf(text) }];
    const named = part['SpecialToken'];
    if (!isRecord(named)) return [];
    const name = String(named['id']);
    const special = Object.hasOwn(specials, name) ? specials[name] : undefined;
    const ids =
      isRecord(special) && Array.isArray(special['ids'])
        ? special['ids'].map((id: unknown) => checked(id, tokens))
        : [known(name, tokens)];
    return [{ ids, type: typeOf(named) }];
  });
}

const typeOf = ({ type_id: type }: Record<string, unknown>): number =>
  Number.isInteger(type) ? Number(type) : 0;

function known(token: string, tokens: Tokens): number {
  const id = tokens.idOf(token);
  if (id === null) throw new Error(`the post_processor names ${JSON.stringify(token)}, which is not a token`);
  return id;
}
