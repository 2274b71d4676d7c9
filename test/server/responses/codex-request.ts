// A request of the Codex CLI to /v1/responses: every member, with shortened texts and lists.

/** Grammar of its tool apply_patch. */
export const APPLY_PATCH = `start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
`;

const parameters = { type: 'object', properties: { cmd: { type: 'string' } }, required: ['cmd'] };
const named = (name: string) => ({ type: 'function', name, description: name, strict: false, parameters });
const said = (text: string) => [{ type: 'input_text', text }];

const message = (role: string, text: string) => ({
  type: 'message',
  id: `msg_${role}`,
  role,
  content: said(text),
});

/** A tool of an MCP server. */
export const WEATHER = {
  type: 'namespace',
  name: 'mcp__weather',
  description: 'Ask for weather here.',
  tools: [{ ...named('get_weather'), defer_loading: true }],
};

export const CODEX_TOOLS = [
  named('exec_command'),
  {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edits files.',
    format: { type: 'grammar', syntax: 'lark', definition: APPLY_PATCH },
  },
  {
    type: 'namespace',
    name: 'multi_agent_v1',
    description: 'Tools for sub-agents.',
    tools: [named('close_agent'), named('spawn_agent')],
  },
  {
    type: 'tool_search',
    execution: 'client',
    description: 'Finds tools.',
    parameters: { type: 'object', properties: { query: { type: 'string' } } },
  },
];

export const WEB_SEARCH = {
  type: 'web_search',
  external_web_access: false,
  search_content_types: ['text', 'image'],
};

export const CODEX_INPUT = [
  message('developer', 'You are a coding agent.'),
  message('user', 'Patch it.'),
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    content: [{ type: 'reasoning_text', text: 'Hm' }],
    encrypted_content: null,
  },
  {
    type: 'message',
    status: 'completed',
    id: 'msg_2',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'I will.', annotations: [], logprobs: [] }],
  },
  {
    type: 'custom_tool_call',
    id: 'ctc_1',
    status: 'completed',
    call_id: 'c1',
    name: 'apply_patch',
    input: '*** Begin "Patch"',
  },
  { type: 'custom_tool_call_output', id: 'ctco_1', call_id: 'c1', output: 'Exit code: 0' },
  {
    type: 'tool_search_call',
    id: 'tsc_1',
    call_id: 'c2',
    status: 'completed',
    execution: 'client',
    arguments: { query: 'weather' },
  },
  {
    type: 'tool_search_output',
    id: 'tso_1',
    call_id: 'c2',
    status: 'completed',
    execution: 'client',
    tools: [WEATHER],
  },
  {
    type: 'function_call',
    status: 'completed',
    id: 'fc_1',
    name: 'get_weather',
    namespace: 'mcp__weather',
    arguments: '{"cmd":"Oslo"}',
    call_id: 'c3',
  },
  {
    type: 'function_call_output',
    id: 'fco_1',
    call_id: 'c3',
    output: [...said('Wall time: 0 seconds'), ...said('It rains.')],
  },
];

export const CODEX_REQUEST = {
  input: CODEX_INPUT,
  tools: CODEX_TOOLS,
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'medium', summary: 'auto' },
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '01a201ec',
  text: { verbosity: 'low' },
  client_metadata: { thread_id: '01a201ec' },
};
