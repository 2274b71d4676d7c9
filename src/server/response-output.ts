// The output of a response, item by item as the parts come: thoughts, text, calls. What happens is told as events, which a stream
// sends on.

import { randomUUID } from 'node:crypto';
import type { TokenLogprob } from '../index.ts';
import { toLogprobs } from './logprobs.ts';
import type { Part } from './reply-parts.ts';
import type { InputItem } from './response-items.ts';

/** Told of every event by its type and members. */
export type Tell = (type: string, members: object) => void;

export interface ResponseOutput {
  add(part: Part): void;
  /** Ends the last item. */
  close(status: 'completed' | 'incomplete'): void;
  items(): InputItem[];
}

type Kind = 'reasoning' | 'message' | 'function_call';

interface Open {
  kind: Kind;
  id: string;
  at: number;
  text: string;
  logprobs: TokenLogprob[];
  call: { call_id: string; name: string } | null;
}

const PREFIXES: Record<Kind, string> = { reasoning: 'rs', message: 'msg', function_call: 'fc' };
const EVENTS: Record<Kind, string> = {
  reasoning: 'reasoning_text',
  message: 'output_text',
  function_call: 'function_call_arguments',
};

export function createOutput(tell: Tell, wantsLogprobs: boolean): ResponseOutput {
  const items: InputItem[] = [];
  let open: Open | null = null;

  const logprobsOf = ({ kind }: Open, logprobs: readonly TokenLogprob[]) =>
    kind === 'message' ? { logprobs: wantsLogprobs ? toLogprobs(logprobs).content : [] } : {};
  /** Where events of an item happen; calls have no parts. */
  const placeOf = ({ kind, id, at }: Open) => ({
    item_id: id,
    output_index: at,
    ...(kind !== 'function_call' && { content_index: 0 }),
  });
  const partOf = (item: Open): object =>
    item.kind === 'reasoning'
      ? { type: 'reasoning_text', text: item.text }
      : { type: 'output_text', text: item.text, annotations: [], ...logprobsOf(item, item.logprobs) };
  const itemOf = (item: Open, status: string, content: object[]): InputItem => {
    const { id, kind: type } = item;
    if (item.call) return { id, type, status, ...item.call, arguments: item.text };
    if (type === 'reasoning') return { id, type, status, summary: [], content };
    return { id, type, status, role: 'assistant', content };
  };

  const begin = (kind: Kind, call: Open['call'] = null): Open => {
    close('completed');
    const id = `${PREFIXES[kind]}_${randomUUID().replaceAll('-', '')}`;
    open = { kind, id, at: items.length, text: '', logprobs: [], call };
    tell('response.output_item.added', { output_index: open.at, item: itemOf(open, 'in_progress', []) });
    if (!call) tell('response.content_part.added', { ...placeOf(open), part: partOf(open) });
    return open;
  };

  const close = (status: 'completed' | 'incomplete'): void => {
    if (!open) return;
    const item = open;
    open = null;
    const place = placeOf(item);
    if (item.call) {
      const { name } = item.call;
      tell('response.function_call_arguments.done', { ...place, name, arguments: item.text });
    } else {
      tell(`response.${EVENTS[item.kind]}.done`, {
        ...place,
        text: item.text,
        ...logprobsOf(item, item.logprobs),
      });
      tell('response.content_part.done', { ...place, part: partOf(item) });
    }
    const done = itemOf(item, status, item.call ? [] : [partOf(item)]);
    items.push(done);
    tell('response.output_item.done', { output_index: item.at, item: done });
  };

  return {
    add(part) {
      if (part.kind === 'call') return void begin('function_call', { call_id: part.id, name: part.name });
      if (part.text === '' && part.logprobs.length === 0) return;
      const kind: Kind =
        part.kind === 'reasoning' ? 'reasoning' : part.kind === 'content' ? 'message' : 'function_call';
      const item = open?.kind === kind ? open : begin(kind);
      item.text += part.text;
      item.logprobs.push(...part.logprobs);
      if (part.text === '') return;
      const delta = { ...placeOf(item), delta: part.text, ...logprobsOf(item, part.logprobs) };
      tell(`response.${EVENTS[item.kind]}.delta`, delta);
    },
    close,
    items: () => items,
  };
}
