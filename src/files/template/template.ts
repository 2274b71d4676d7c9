// Chat templates: a conversation becomes the text the model was trained on. Jinja is in jinja/; here is what a template leaves open:
// which roles it knows, whether it takes content as text or as parts, and errors. Templates come with the checkpoint and are not
// trusted: each rendering has limits (jinja/meter.ts). A client's own are not accepted.

import { badRequest, EngineError, reasonOf, unsupported } from '../error.ts';
import type { SpecialTokens } from '../tokenizer/encode/special-tokens.ts';
import type { TekkenChat } from '../tokenizer/tekken.ts';
import type { ChatRendering, ChatTemplate } from './chat-template.ts';
import { rendersHarmony, renderHarmony } from './harmony.ts';
import { JinjaTemplate } from './jinja/jinja.ts';
import { QUICK_MILLISECONDS, RENDER_LIMITS } from './jinja/values/meter.ts';
import { MistralFormat } from './mistral.ts';
import { openSoundTemplate } from './single-template.ts';
import { prepareMessages, withCallsSaid, withoutNull, type TemplateMessage } from './template-messages.ts';
import { probeTemplate, type Probed } from './template-probe.ts';
import { namedVariables } from './template-roles.ts';
import { OTHER_FORMS, withShortIds } from './template-turns.ts';

/** Name → Jinja source. `default` is the usual one, `tool_use` the one for requests with tools. */
export type ChatTemplates = Record<string, string>;

export type { ChatRendering, ChatTemplate };

interface Parsed extends Probed {
  template: JinjaTemplate;
}

function parse(name: string, source: string, specials: SpecialTokens): Parsed {
  const template = new JinjaTemplate(source, name);
  return { template, ...probeTemplate(template, specials) };
}

/** `chat`: the format of conversations where the tokenizer's file tells it, which is used where there are no templates. */
export function openChatTemplate(
  sources: ChatTemplates | null,
  specials: SpecialTokens,
  chat: TekkenChat | null = null,
): ChatTemplate {
  const [name = 'default', first] =
    Object.entries(sources ?? {}).toSorted(
      ([a], [b]) => Number(b === 'default') - Number(a === 'default'),
    )[0] ?? [];
  if (first === undefined) return chat === null ? closedTemplate(missingTemplate()) : openMistral(chat);
  try {
    const withoutTools = parse(name, first, specials);
    const tools = sources?.['tool_use'];
    const withTools = tools === undefined ? withoutTools : parse('tool_use', tools, specials);
    return openJinja({ withoutTools, withTools }, Object.values(sources ?? {}).join('\n'));
  } catch (cause) {
    return closedTemplate(cause instanceof EngineError ? cause : unreadableTemplate(cause));
  }
}

function openJinja(
  { withoutTools, withTools }: Record<'withoutTools' | 'withTools', Parsed>,
  source: string,
): ChatTemplate {
  const variables = new Set([
    ...namedVariables(withoutTools.template.syntax),
    ...namedVariables(withTools.template.syntax),
  ]);
  const parsedFor = (tools: ChatRendering['tools']): Parsed => (tools?.length ? withTools : withoutTools);
  const isHarmony = rendersHarmony(withoutTools.template, withoutTools.usual);
  return {
    problem: null,
    source,
    reads: (variable) => variables.has(variable),
    portable({ messages, callText, ...rest }) {
      const { traits } = parsedFor(rest.tools);
      return { ...rest, messages: withCallsSaid(messages, traits, callText ?? null) };
    },
    render(
      { messages, tools, addGenerationPrompt = true, kwargs = {}, callText, ...shown },
      { quick = false } = {},
    ) {
      // Only the template knows the model's built-in tools and the form of training data.
      if (isHarmony && addGenerationPrompt && kwargs['builtin_tools'] === undefined)
        return renderHarmony({ messages, tools, kwargs: checkedKwargs(kwargs) }, new Date());
      const { template, traits, usual } = parsedFor(tools);
      // The time limit is shared by all forms of a conversation.
      const end = performance.now() + (quick ? QUICK_MILLISECONDS : RENDER_LIMITS.milliseconds);
      const variables = {
        ...usual,
        ...(tools?.length && { tools }),
        add_generation_prompt: addGenerationPrompt,
        ...checkedKwargs(kwargs),
      };
      const as = (form: readonly TemplateMessage[]): string => {
        const named = traits.shortIds ? withShortIds(form) : form;
        const prepared = prepareMessages(named, traits, { callText, ...shown });
        const limits = { ...RENDER_LIMITS, milliseconds: end - performance.now() };
        return template.render({ ...variables, messages: prepared }, { limits });
      };
      return renderAnyForm(messages, traits, as);
    },
  };
}

/** Renders the messages, or the first of their other forms that the template accepts. Throws bad_request if it refuses all. */
function renderAnyForm(
  messages: readonly TemplateMessage[],
  traits: Parsed['traits'],
  render: (form: readonly TemplateMessage[]) => string,
): string {
  try {
    return render(messages);
  } catch (cause) {
    if (cause instanceof EngineError) throw cause;
    for (const form of OTHER_FORMS) {
      try {
        return render(withoutNull(form(messages), traits));
      } catch (other) {
        if (other instanceof EngineError) throw other;
      }
    }
    const message = `the model's chat template refused these messages: ${reasonOf(cause)}`;
    throw badRequest(message, 'messages', cause);
  }
}

/** Constants and functions of every template; messages and tools have fields of their own. */
const RESERVED = new Set(
  'messages tools true false none True False None range raise_exception strftime_now'.split(' '),
);

function checkedKwargs(kwargs: Record<string, unknown>): Record<string, unknown> {
  const taken = Object.keys(kwargs).find((name) => RESERVED.has(name));
  if (taken !== undefined) {
    throw badRequest(
      `chat_template_kwargs.${taken} is not free for templates to take: leave it out`,
      `chat_template_kwargs.${taken}`,
    );
  }
  return kwargs;
}

function openMistral(chat: TekkenChat): ChatTemplate {
  if (chat.isStream) return openSoundTemplate();
  let format: MistralFormat;
  try {
    format = new MistralFormat(chat);
  } catch (cause) {
    if (cause instanceof EngineError) return closedTemplate(cause);
    throw cause;
  }
  return {
    problem: null,
    source: format.marks,
    reads: (variable) => variable === 'tools' || (variable === 'reasoning_effort' && format.efforts !== null),
    portable(rendering) {
      const { callText: _, ...data } = rendering;
      return data;
    },
    render: ({ kwargs = {}, ...rendering }) => format.render({ ...rendering, kwargs: checkedKwargs(kwargs) }),
  };
}

function closedTemplate(problem: EngineError): ChatTemplate {
  return {
    problem,
    source: '',
    reads: () => false,
    portable: (rendering) => rendering,
    render: () => {
      throw new EngineError(problem.code, problem.message, { param: 'messages', cause: problem });
    },
  };
}

function unreadableTemplate(cause: unknown): EngineError {
  return unsupported(
    `the checkpoint's chat template cannot be read (${reasonOf(cause)}): put one that can into a chat_template.jinja beside its config.json and open it again; from a program, a plain text prompt needs none`,
    'chat_template',
    cause,
  );
}

function missingTemplate(): EngineError {
  return unsupported(
    'this checkpoint has no chat template and so cannot take messages: put the chat_template.jinja of its chat version beside its config.json and open it again; from a program, a plain text prompt needs none',
    'chat_template',
  );
}
