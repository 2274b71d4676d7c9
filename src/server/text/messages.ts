// Schemas of the conversation that a client sends: roles, content, tool calls. Every error names the path of the wrong member.

import { z } from 'zod';
import type { ChatMessage } from '../../index.ts';
import { contentPart, partPaths, toContentPart } from './content-parts.ts';
import { list, MOST_TURNS } from '../body/bounded.ts';
import { membersOf, shapeSchema } from '../body/setting-fields.ts';
import { CALLED_FUNCTION, MESSAGE, ROLES } from '../../options/conversation.ts';

const { name, reasoning_content, tool_calls, tool_call_id } = membersOf(MESSAGE);

const message = z
  .looseObject({
    role: z
      .string()
      .toLowerCase()
      .meta({ enum: [...ROLES] })
      .pipe(z.enum(ROLES)),
    content: z.union([z.string(), list(contentPart, MOST_TURNS), z.null()]).optional(),
    name,
    reasoning_content,
    /** Names that other servers give to reasoning_content. */
    reasoning: reasoning_content,
    thinking: reasoning_content,
    tool_calls,
    /** The older form of one entry in tool_calls. */
    function_call: shapeSchema(CALLED_FUNCTION).nullish(),
    tool_call_id,
  })
  .superRefine(({ role, content, tool_calls, function_call }, context) => {
    if (content === undefined && !tool_calls?.length && !function_call) {
      context.addIssue({
        code: 'custom',
        path: ['content'],
        message: 'is required',
        params: { code: 'missing_required_parameter' },
      });
    } else if (content === null && role === 'user') {
      context.addIssue({
        code: 'custom',
        path: ['content'],
        message: 'must be text or a list of parts in a user message, got null',
        params: { code: 'invalid_type' },
      });
    }
    const calls = tool_calls?.length ? 'tool_calls' : function_call ? 'function_call' : undefined;
    if (calls && role !== 'assistant') {
      context.addIssue({
        code: 'custom',
        path: [calls],
        message: `belongs to assistant messages, and this one is from ${role}`,
      });
    }
  });

export const messagesSchema = list(message, MOST_TURNS).min(1);

type MessagesBody = z.infer<typeof messagesSchema>;

/**
 * Keeps unknown members, too, since templates may read any; converts the older form of a call to the newer one. Media are not read yet:
 * their parts hold a MediaSource.
 */
export function toChatMessages(body: MessagesBody): ChatMessage[] {
  return body.map(({ function_call: older, content, ...message }, at): ChatMessage => {
    const { reasoning, reasoning_content: thoughts, tool_calls: calls } = message;
    return {
      ...message,
      ...(content !== undefined && {
        content: Array.isArray(content)
          ? content.map((part, i) => toContentPart(part, partPath(at, i)))
          : content,
      }),
      ...(thoughts == null && reasoning != null && { reasoning_content: reasoning }),
      ...(older && !calls?.length && { tool_calls: [{ type: 'function', function: older }] }),
    };
  });
}

const partPath = (message: number, part: number): string => `messages.${message}.content.${part}`;

/** Pairs of a path in the engine's request and the path in the body, for the media of a conversation. */
export function mediaPaths(body: MessagesBody = []): [engine: string, field: string][] {
  return body.flatMap(({ content }, at) =>
    Array.isArray(content) ? content.flatMap((part, i) => partPaths(part, partPath(at, i))) : [],
  );
}
