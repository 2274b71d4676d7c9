// Loads of chat completions that are constrained by a grammar, by tools or by a reasoning budget; grammars.mjs judges the replies.

import assert from 'node:assert/strict';
import { ask, question, user } from './chat-loads.mjs';
import {
  checkCalls,
  checkJson,
  checkStructure,
  EBNFS,
  REGEXES,
  SCHEMAS,
  STRUCTURE,
  TOOLS,
} from './grammars.mjs';

/** Returns true for a choice that ended by itself, not by a limit. */
const whole = ({ finish_reason: reason }) => reason === 'stop';

export const CONSTRAINED_LOADS = {
  jsonSchema: (at) => {
    const schema = at.random.pick(SCHEMAS);
    return ask(
      at,
      {
        messages: question(at),
        max_tokens: 96,
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
      },
      (choice) => whole(choice) && checkJson(choice.content, schema),
    );
  },
  jsonObject: (at) =>
    ask(
      at,
      { messages: user('Answer in JSON.'), max_tokens: 64, response_format: { type: 'json_object' } },
      (choice) => whole(choice) && checkJson(choice.content, { type: 'object' }),
    ),
  regex: (at) => {
    const regex = at.random.pick(REGEXES);
    return ask(
      at,
      { messages: question(at), regex },
      (choice) => whole(choice) && assert.match(choice.content, new RegExp(`^(?:${regex})$`)),
    );
  },
  ebnf: (at) => {
    const [ebnf, form] = at.random.pick(EBNFS);
    return ask(
      at,
      { messages: question(at), ebnf },
      (choice) => whole(choice) && assert.match(choice.content, form),
    );
  },
  structuralTag: (at) =>
    ask(
      at,
      { messages: question(at), response_format: STRUCTURE },
      (choice) => whole(choice) && checkStructure(choice.content),
    ),
  toolsAuto: (at) =>
    ask(
      at,
      { messages: user('What is the weather in Oslo?'), tools: TOOLS, max_tokens: 80 },
      (choice) => choice.finish_reason === 'tool_calls' && checkCalls(choice.tool_calls),
    ),
  toolsRequired: (at) => {
    const single = at.random.chance(0.5);
    return ask(
      at,
      {
        messages: question(at),
        tools: TOOLS,
        tool_choice: 'required',
        parallel_tool_calls: !single,
        max_tokens: 120,
      },
      (choice) => {
        if (choice.finish_reason === 'length' || choice.finish_reason === 'abort') return;
        assert.equal(choice.finish_reason, 'tool_calls');
        checkCalls(choice.tool_calls);
        if (single) assert.equal(choice.tool_calls.length, 1);
      },
    );
  },
  toolsNamed: (at) => {
    const { name } = at.random.pick(TOOLS).function;
    return ask(
      at,
      {
        messages: question(at),
        tools: TOOLS,
        tool_choice: { type: 'function', function: { name } },
        max_tokens: 120,
      },
      (choice) => ['length', 'abort'].includes(choice.finish_reason) || checkCalls(choice.tool_calls, [name]),
    );
  },
  toolsNone: (at) =>
    ask(at, { messages: question(at), tools: TOOLS, tool_choice: 'none' }, ({ tool_calls: calls }) =>
      assert.equal(calls?.length ?? 0, 0),
    ),
  toolHistory: (at) => {
    const call = { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } };
    const messages = [
      ...user('What is 1 + 2?'),
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: '3' },
    ];
    return ask(at, { messages, tools: TOOLS });
  },
  thinking: (at) => {
    const separate = at.random.chance(0.8);
    return ask(
      at,
      {
        messages: user(`What is ${at.random.int(90)} + ${at.random.int(90)}?`),
        max_tokens: 90,
        chat_template_kwargs: { enable_thinking: true },
        separate_reasoning: separate,
        stream_reasoning: at.random.chance(0.8),
        ...(at.random.chance(0.3) && { thinking_budget: at.random.int(30) }),
        ...(at.random.chance(0.2) && {
          response_format: { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMAS[9] } },
        }),
      },
      ({ content, reasoning_content: thoughts, finish_reason: reason }, body) => {
        if (!separate) assert.ok(!thoughts, 'thoughts stay in content');
        if (separate && reason === 'stop' && body.response_format) checkJson(content, SCHEMAS[9]);
      },
    );
  },
};
