// Chat templates: a conversation becomes the text the model was trained on. Jinja itself is the library's; here is
// what a template leaves open: which roles it knows, whether it takes content as text or as parts, and errors.
// Templates come with the checkpoint and are trusted as far as its weights are; a client's own are not accepted.

import { Template } from '@huggingface/jinja';
import { EngineError } from '../error.ts';
import type { SpecialTokens } from '../tokenizer/special-tokens.ts';
import {
  prepareMessages,
  type CallText,
  type TemplateMessage,
  type TemplateTraits,
} from './template-messages.ts';
import { namedRoles, namedVariables } from './template-roles.ts';
import { OTHER_FORMS, withShortIds } from './template-turns.ts';

/** Name → Jinja source. `default` is the usual one, `tool_use` the one for requests with tools. */
export type ChatTemplates = Record<string, string>;

export interface ChatRendering {
  messages: readonly TemplateMessage[];
  tools?: readonly object[] | null;
  /** Ends with the opening of the assistant's turn; true where left out. */
  addGenerationPrompt?: boolean;
  /** What calls are in the text, for a template that leaves them out; left out: nothing. */
  callText?: CallText;
  /** Variables of the template's own, such as enable_thinking; laid over the usual ones. */
  kwargs?: Record<string, unknown>;
}

export interface ChatTemplate {
  /** Why nothing can be rendered: the checkpoint has no template, or a broken one. Plain text prompts need none. */
  problem: EngineError | null;
  /** Its Jinja, all templates together; '' where there is none. */
  source: string;
  /** Whether it looks at a variable of that name. */
  reads(variable: string): boolean;
  /** Throws `problem` where there is one. */
  render(rendering: ChatRendering): string;
}

interface Parsed {
  template: Template;
  traits: TemplateTraits;
  /** Variables of every rendering. */
  usual: Record<string, unknown>;
}

export function openChatTemplate(sources: ChatTemplates | null, specials: SpecialTokens): ChatTemplate {
  const first = sources === null ? undefined : (sources['default'] ?? Object.values(sources)[0]);
  if (first === undefined) return closedTemplate(missingTemplate());
  let withoutTools: Parsed;
  let withTools: Parsed;
  try {
    withoutTools = parse(first, specials);
    withTools = sources?.['tool_use'] === undefined ? withoutTools : parse(sources['tool_use'], specials);
  } catch (cause) {
    return closedTemplate(
      new EngineError(
        'unsupported',
        `the checkpoint's chat template cannot be read (${reasonOf(cause)}): put one that can into a chat_template.jinja beside its config.json and open it again; from a program, a plain text prompt needs none`,
        { param: 'chat_template', cause },
      ),
    );
  }
  const source = Object.values(sources ?? {}).join('\n');
  const variables = new Set([
    ...namedVariables(withoutTools.template.parsed),
    ...namedVariables(withTools.template.parsed),
  ]);
  return {
    problem: null,
    source,
    reads: (variable) => variables.has(variable),
    render({ messages, tools, addGenerationPrompt = true, callText, kwargs = {} }) {
      const hasTools = tools != null && tools.length > 0;
      const { template, traits, usual } = hasTools ? withTools : withoutTools;
      const variables = {
        ...usual,
        ...(hasTools && { tools }),
        add_generation_prompt: addGenerationPrompt,
        ...checkedKwargs(kwargs),
      };
      const as = (form: readonly TemplateMessage[]): string => {
        const named = traits.shortIds ? withShortIds(form) : form;
        const prepared = prepareMessages(named, traits, callText);
        return template.render({ ...variables, messages: prepared });
      };
      try {
        return as(messages);
      } catch (cause) {
        if (cause instanceof EngineError) throw cause;
        for (const form of OTHER_FORMS) {
          try {
            return as(form(messages));
          } catch {}
        }
        throw new EngineError(
          'bad_request',
          `the model's chat template refused these messages: ${reasonOf(cause)}`,
          {
            param: 'messages',
            cause,
          },
        );
      }
    },
  };
}

const PROBE = 'probeprobe';
const ARGUMENT = 'argumentprobe';

/**
 * What the template takes is found by rendering a message of each form and looking for its text. The reference
 * implementation passes None for tools and documents that are not there; a template that fails on None gets empty lists.
 */
function parse(source: string, specials: SpecialTokens): Parsed {
  const template = new Template(source);
  const probe = (variables: Record<string, unknown>, content: unknown): string | null => {
    try {
      const text = template.render({
        ...variables,
        add_generation_prompt: false,
        messages: [{ role: 'user', content }],
      });
      return text.includes(PROBE) ? text : null;
    } catch {
      return null;
    }
  };
  const nones = { ...specials, tools: null, documents: null };
  const empty = { ...specials, tools: [], documents: [] };
  const parts = [{ type: 'text', text: PROBE }];
  const usual =
    [nones, empty].find((variables) => probe(variables, PROBE) ?? probe(variables, parts)) ?? nones;
  const asText = probe(usual, PROBE);
  const asParts = probe(usual, parts);
  // Parts printed as a list, brackets and all, are not taken.
  const takesParts = asParts !== null && (asText === null || asText === asParts);
  const takesText = asText !== null || !takesParts;
  const traits = {
    roles: namedRoles(template.parsed),
    takesText,
    takesParts,
    takesThinking: /\.thinking\b|["']thinking["'] (not )?in\b/.test(source),
    ...callTraits(template, usual),
  };
  return { template, traits, usual };
}

/**
 * How calls are to be handed over: a template that joins arguments to its text as they are needs them as text, and one
 * that takes calls for calls only where the content is None needs that. The first way that shows the arguments is taken.
 * One that renders such a message without them, tools or not, leaves calls out. One that refuses another id wants it short.
 */
function callTraits(
  template: Template,
  usual: Record<string, unknown>,
): Required<Pick<TemplateTraits, 'argumentsAsText' | 'noContentWithCalls' | 'dropsCalls' | 'shortIds'>> {
  const ways = [
    { argumentsAsText: false, noContentWithCalls: false },
    { argumentsAsText: true, noContentWithCalls: false },
    { argumentsAsText: false, noContentWithCalls: true },
    { argumentsAsText: true, noContentWithCalls: true },
  ];
  let renders = false;
  const shows = (
    { argumentsAsText, noContentWithCalls }: (typeof ways)[number],
    more: Record<string, unknown> = {},
    id = '123456789',
  ): boolean => {
    const given = { [ARGUMENT]: 1 };
    const called = { name: PROBE, arguments: argumentsAsText ? JSON.stringify(given) : given };
    const call = { id, type: 'function', function: called };
    const messages = [
      { role: 'user', content: PROBE },
      { role: 'assistant', content: noContentWithCalls ? null : '', tool_calls: [call] },
    ];
    try {
      const text = template.render({ ...usual, ...more, add_generation_prompt: false, messages });
      renders = true;
      return text.includes(ARGUMENT);
    } catch {
      return false;
    }
  };
  const way = ways.find((one) => shows(one));
  const tools = [{ type: 'function', function: { name: PROBE, description: PROBE, parameters: {} } }];
  const dropsCalls = !way && !ways.some((one) => shows(one, { tools })) && renders;
  const shortIds = way !== undefined && !shows(way, {}, 'call_of_another_length');
  return { ...(way ?? ways[0]!), dropsCalls, shortIds };
}

/** The library declares these itself and cannot have them twice; messages and tools have fields of their own. */
const RESERVED = new Set(
  'messages tools true false none True False None range raise_exception strftime_now'.split(' '),
);

function checkedKwargs(kwargs: Record<string, unknown>): Record<string, unknown> {
  const taken = Object.keys(kwargs).find((name) => RESERVED.has(name));
  if (taken !== undefined) {
    throw new EngineError(
      'bad_request',
      `chat_template_kwargs.${taken} is not free for templates to take: leave it out`,
      {
        param: `chat_template_kwargs.${taken}`,
      },
    );
  }
  return kwargs;
}

function closedTemplate(problem: EngineError): ChatTemplate {
  return {
    problem,
    source: '',
    reads: () => false,
    render: () => {
      throw new EngineError(problem.code, problem.message, { param: 'messages', cause: problem });
    },
  };
}

function missingTemplate(): EngineError {
  return new EngineError(
    'unsupported',
    'this checkpoint has no chat template and so cannot take messages: put the chat_template.jinja of its chat version beside its config.json and open it again; from a program, a plain text prompt needs none',
    { param: 'chat_template' },
  );
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
