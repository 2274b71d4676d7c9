// The output of a response, built item by item as the parts arrive: reasoning, text, calls. Each change is reported as an event,
// which a stream sends.

import { randomUUID } from 'node:crypto';
import type { TokenLogprob } from '../../index.ts';
import { toLogprobs } from '../text/reply-fold.ts';
import { type ReplyPart, canBeMade } from '../text/reply-parts.ts';
import { type CallItem, callItem } from './response-call.ts';
import type { InputItem } from './response-items.ts';
import { type ResponseBody, wantsOutputLogprobs } from './response-schema.ts';
import type { OfferedTool } from './response-tools.ts';

/** Called with the type and members of every event. */
type Tell = (type: string, members: object) => void;

interface Wishes {
  body: Pick<ResponseBody, 'include'>;
  /** Tools that the model may call. */
  offered: readonly OfferedTool[];
}

type Kind = 'reasoning' | 'message' | 'call';

interface Open {
  kind: Kind;
  id: string;
  at: number;
  text: string;
  logprobs: TokenLogprob[];
  call: CallItem | null;
  /** Arguments of a call, as the model wrote them. */
  json: string;
}

const PREFIXES = { reasoning: 'rs', message: 'msg' };
const EVENTS = { reasoning: 'reasoning_text', message: 'output_text' };

export function createOutput(tell: Tell, { body, offered }: Wishes) {
  const wantsLogprobs = wantsOutputLogprobs(body);
  const items: InputItem[] = [];
  let open: Open | null = null;

  const logprobsOf = ({ kind }: Open, logprobs: readonly TokenLogprob[]) =>
    kind === 'message' ? { logprobs: wantsLogprobs ? toLogprobs(logprobs).content : [] } : {};
  /** Members that locate the events of an item; calls have no parts. */
  const placeOf = ({ kind, id, at }: Open) => ({
    item_id: id,
    output_index: at,
    ...(kind !== 'call' && { content_index: 0 }),
  });
  const partOf = (item: Open): object =>
    item.kind === 'reasoning'
      ? { type: 'reasoning_text', text: item.text }
      : { type: 'output_text', text: item.text, annotations: [], ...logprobsOf(item, item.logprobs) };
  const itemOf = (item: Open, status: 'in_progress' | 'completed' | 'incomplete'): InputItem => {
    const { id, kind, text, call } = item;
    const isDone = status !== 'in_progress';
    if (call) return { id, type: call.form.type, status, ...call.members(text, isDone) };
    const content = isDone ? [partOf(item)] : [];
    if (kind === 'reasoning') return { id, type: kind, status, summary: [], content };
    return { id, type: kind, status, role: 'assistant', content };
  };
  const eventsOf = ({ kind, call }: Open): string | null =>
    kind === 'call' ? call!.form.events : EVENTS[kind];

  const begin = (kind: Kind, call: CallItem | null = null): Open => {
    close('completed');
    const prefix = kind === 'call' ? call!.form.prefix : PREFIXES[kind];
    const id = `${prefix}_${randomUUID().replaceAll('-', '')}`;
    open = { kind, id, at: items.length, text: '', logprobs: [], call, json: '' };
    tell('response.output_item.added', { output_index: open.at, item: itemOf(open, 'in_progress') });
    if (!call) tell('response.content_part.added', { ...placeOf(open), part: partOf(open) });
    return open;
  };

  const say = (item: Open, text: string, logprobs: readonly TokenLogprob[] = []): void => {
    item.text += text;
    const events = eventsOf(item);
    if (text === '' || events === null) return;
    tell(`response.${events}.delta`, { ...placeOf(item), delta: text, ...logprobsOf(item, logprobs) });
  };

  /** Ends the last item. */
  const close = (status: 'completed' | 'incomplete'): void => {
    if (!open) return;
    const item = open;
    if (item.call) say(item, item.call.end());
    open = null;
    const events = eventsOf(item);
    const said = item.call?.done(item.text) ?? { text: item.text, ...logprobsOf(item, item.logprobs) };
    if (events !== null) tell(`response.${events}.done`, { ...placeOf(item), ...said });
    if (!item.call) tell('response.content_part.done', { ...placeOf(item), part: partOf(item) });
    const done = itemOf(item, item.call && !canBeMade(item.json) ? 'incomplete' : status);
    items.push(done);
    tell('response.output_item.done', { output_index: item.at, item: done });
  };

  return {
    add(part: ReplyPart): void {
      if (part.kind === 'call') return void begin('call', callItem(part.id, part.name, offered));
      if (part.text === '' && part.logprobs.length === 0) return;
      const kind = part.kind === 'reasoning' ? 'reasoning' : part.kind === 'content' ? 'message' : 'call';
      const item = open?.kind === kind ? open : begin(kind);
      item.logprobs.push(...part.logprobs);
      item.json += item.call ? part.text : '';
      say(item, item.call?.add(part.text) ?? part.text, part.logprobs);
    },
    close,
    items: () => items,
  };
}
