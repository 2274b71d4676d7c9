// The options of a session: their checks, their defaults, and what of them its requests carry.

import { badRequest } from '../files/error.ts';
import { checkRequestOptions } from '../engine/text/request/text-rules.ts';
import type { TextRequest, Tool } from '../engine/text/calls/text-model.ts';
import { NOT_OF_REPLIES, type ChatOptions, type ReplyOptions, type TalkingModel } from './chat-types.ts';
import { checkPolicy, roomFor } from './context-window.ts';
import type { Schema } from './schema.ts';
import { checkTime, promptTools, type AnyTools } from './tools.ts';

export type AnyOptions = Omit<ChatOptions<Record<string, Schema>>, 'tools'> & { tools?: AnyTools };

export interface Settings {
  options: AnyOptions;
  tools: AnyTools;
  promptTools: Tool[];
  maxRounds: number;
  /** Members of its requests. */
  request: Omit<TextRequest, 'prompt'>;
}

const MOST_ROUNDS = 100;

/** Options of a session that its requests do not carry. */
const OWN = [
  'system',
  'tools',
  'maxRounds',
  'toolTimeout',
  'confirm',
  'context',
  'reserve',
  'templateKwargs',
  'restore',
] as const satisfies Exclude<keyof AnyOptions, keyof ReplyOptions>[];

/** Throws bad_request. */
export function settingsOf(options: AnyOptions, { info }: TalkingModel): Settings {
  if (typeof options !== 'object' || options === null)
    throw badRequest('the options of a chat are not an object: give one, or none');
  const { system, tools = {}, maxRounds = 8, toolTimeout, confirm, context, reserve, ...rest } = options;
  const { templateKwargs: _kwargs, restore: _restore, ...request } = rest;
  checkRequestOptions(options, 'chat()', OWN, NOT_OF_REPLIES);
  if (!info.hasChatTemplate)
    throw badRequest(
      `${info.name} has no chat template, which conversations are written with: use complete(), or open a model that was trained for chat`,
    );
  if (system !== undefined && typeof system !== 'string')
    throw badRequest(`system is ${JSON.stringify(system)}: give a text`, 'system');
  if (!(Number.isInteger(maxRounds) && maxRounds >= 1 && maxRounds <= MOST_ROUNDS))
    throw badRequest(
      `maxRounds is ${String(maxRounds)}: give a whole number from 1 to ${MOST_ROUNDS}`,
      'maxRounds',
    );
  if (toolTimeout !== undefined) checkTime(toolTimeout, 'toolTimeout');
  if (confirm !== undefined && typeof confirm !== 'function')
    throw badRequest('confirm is not a function: give one that returns whether a call may run', 'confirm');
  if (context !== undefined) checkPolicy(context);
  roomFor({ reserve, maxTokens: request.maxTokens }, info.contextLength);
  return { options, tools, promptTools: promptTools(tools), maxRounds, request };
}
