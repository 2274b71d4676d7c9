// A message as Anthropic's interface sends it: whole, and as the events of its stream.

import type { ContentBlock as Block, Message } from './anthropic-reply-schema.ts';
import { ANTHROPIC_ERRORS } from '../http/errors.ts';
import { isObject } from '../body/fields.ts';
import type { Choice, Fold } from '../text/reply-fold.ts';
import type { ReplyPart } from '../text/reply-parts.ts';
import type { Send, TextForm } from '../text/text-reply.ts';

interface MessageHead {
  id: string;
  model: string;
  stopSequences: readonly string[];
}

/** Called with each event of a block: its kind, the block's number, and the event's members. */
type Tell = (
  type: 'content_block_start' | 'content_block_delta' | 'content_block_stop',
  index: number,
  members: object,
) => void;

/** Receives the parts of the reply and makes content blocks of them, in the order of their arrival; `close` ends the last block. */
function createBlocks(tell: Tell) {
  const blocks: Block[] = [];
  let open: Block | null = null;
  let argumentsText = '';

  const close = (): void => {
    if (!open) return;
    if (open.type === 'tool_use') open.input = parsed(argumentsText);
    tell('content_block_stop', blocks.length - 1, {});
    open = null;
  };
  const begin = <B extends Block>(block: B): B => {
    close();
    open = block;
    argumentsText = '';
    blocks.push(block);
    tell('content_block_start', blocks.length - 1, { content_block: { ...block } });
    return block;
  };
  const say = (delta: object): void => tell('content_block_delta', blocks.length - 1, { delta });

  return {
    all: () => blocks,
    close,
    add(part: ReplyPart): void {
      if (part.kind === 'call') {
        begin({ type: 'tool_use', id: part.id, name: part.name, input: {} });
      } else if (part.text === '') {
        // Anthropic's interface has no member for tokens without text.
      } else if (part.kind === 'arguments') {
        argumentsText += part.text;
        say({ type: 'input_json_delta', partial_json: part.text });
      } else if (part.kind === 'reasoning') {
        const block =
          open?.type === 'thinking' ? open : begin({ type: 'thinking', thinking: '', signature: '' });
        block.thinking += part.text;
        say({ type: 'thinking_delta', thinking: part.text });
      } else {
        const block = open?.type === 'text' ? open : begin({ type: 'text', text: '' });
        block.text += part.text;
        say({ type: 'text_delta', text: part.text });
      }
    },
  };
}

/**
 * Parses the arguments of a call. Text that is not an object becomes an empty object, because a stream that has sent it cannot take
 * it back.
 */
function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {}
  return {};
}

type StopReason = Message['stop_reason'];

function stopOf({ finishReason, matchedStop }: Choice, head: MessageHead) {
  const sequence =
    typeof matchedStop === 'string' && head.stopSequences.includes(matchedStop) ? matchedStop : null;
  const reasons: Record<string, StopReason> = {
    length: 'max_tokens',
    tool_calls: 'tool_use',
    stop: 'end_turn',
  };
  const reason = reasons[finishReason ?? ''] ?? null;
  const stop_reason: StopReason = sequence === null ? reason : 'stop_sequence';
  return { stop_reason, stop_sequence: sequence };
}

/** Returns the token counts. Anthropic's interface counts tokens read from the cache apart from the other prompt tokens. */
function usageOf({ promptTokens, cachedTokens, choices }: Fold): Message['usage'] {
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: choices[0]?.tokens ?? 0,
  };
}

function messageOf(head: MessageHead, fold: Fold, content: Block[]): Message {
  return {
    id: head.id,
    type: 'message',
    role: 'assistant',
    model: head.model,
    content,
    ...stopOf(fold.choices[0]!, head),
    usage: usageOf(fold),
  };
}

export function messageForm(head: MessageHead, fold: Fold, write: Send): TextForm {
  const send = (type: string, members: object) => write({ type, ...members }, type);
  const blocks = createBlocks((type, index, members) => send(type, { index, ...members }));
  let begun = false;
  const start = (): void => {
    if (begun) return;
    begun = true;
    send('message_start', { message: messageOf(head, fold, []) });
    send('ping', {});
  };
  return {
    // The cached part of the prompt is known at the first prefill event, which precedes all others.
    progress: start,
    part(_, part) {
      start();
      blocks.add(part);
    },
    end() {
      start();
      blocks.close();
    },
    finish(error) {
      if (error) return write(ANTHROPIC_ERRORS.event(error), 'error');
      send('message_delta', { delta: stopOf(fold.choices[0]!, head), usage: usageOf(fold) });
      send('message_stop', {});
    },
    whole: () => messageOf(head, fold, blocks.all()),
  };
}
