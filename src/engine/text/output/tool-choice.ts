// Resolves the tool choice of a request: the tools in the prompt, and whether the model may, must or must not call them.

import { EngineError } from '../../../files/error.ts';
import type { TextRequest, Tool } from '../calls/text-model.ts';

export interface ToolPlan {
  /** Tools that the prompt describes and whose calls are recognised: a call of any other tool is text. */
  tools: Tool[];
  mode: 'none' | 'auto' | 'required';
  /** At most one call is allowed. */
  single: boolean;
}

const NO_TOOLS: ToolPlan = { tools: [], mode: 'none', single: false };

/**
 * Only tools that may be called are in the prompt: a named tool alone, a list of allowed tools, or none with `none`. Throws
 * bad_request if the choice does not match the tools.
 */
export function planTools(request: TextRequest): ToolPlan {
  const { prompt, toolChoice: choice = 'auto', parallelToolCalls = true } = request;
  const given = ('tools' in prompt && prompt.tools) || [];
  if (choice === 'none') return NO_TOOLS;
  if (given.length === 0) {
    if (choice === 'auto') return NO_TOOLS;
    throw refusal('toolChoice asks for a call, and the prompt has no tools: send the functions it may call');
  }
  const isNamed = typeof choice === 'object' && 'name' in choice;
  const names = typeof choice === 'string' ? null : isNamed ? [choice.name] : choice.names;
  const tools = names === null ? given : names.map((name) => toolNamed(name, given));
  const mode = typeof choice === 'string' ? choice : isNamed ? 'required' : choice.mode;
  return { tools, mode, single: isNamed || !parallelToolCalls };
}

function toolNamed(name: string, tools: readonly Tool[]): Tool {
  const found = tools.find((tool) => tool.function.name === name);
  if (found) return found;
  const known = tools.map((tool) => tool.function.name).join(', ');
  throw refusal(`toolChoice names ${JSON.stringify(name)}, and the tools are ${known}: name one of them`);
}

function refusal(message: string): EngineError {
  return new EngineError('bad_request', message, { param: 'toolChoice' });
}
