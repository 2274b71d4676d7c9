// The interface of chat templates, in whatever form a checkpoint has them.

import type { EngineError } from '../error.ts';
import type { CallText, TemplateMessage } from './template-messages.ts';

export interface ChatRendering {
  messages: readonly TemplateMessage[];
  tools?: readonly object[] | null;
  /** Ends with the opening of the assistant's turn; true where left out. */
  addGenerationPrompt?: boolean;
  /** Text of calls, for a template that leaves them out; default: none. */
  callText?: CallText;
  /** Text that stands for a part of a type other than text, by type; left out: there are no such parts. */
  media?: Readonly<Record<string, string>>;
  /** Whether such parts come before the texts of their message where the template takes text only; left out: no. */
  mediaFirst?: boolean;
  /** Whether they stand between texts without line breaks there; left out: with them. */
  mediaJoined?: boolean;
  /** Variables of the template's own, such as enable_thinking; laid over the usual ones. */
  kwargs?: Record<string, unknown>;
}

export interface ChatTemplate {
  /** Why nothing can be rendered: the checkpoint has no template, or a broken one. Plain text prompts need none. */
  problem: EngineError | null;
  /** Jinja source of all templates together, or the marks of a format without one; '' if there is none. */
  source: string;
  /** Whether the template reads a variable of that name. */
  reads(variable: string): boolean;
  /**
   * Throws `problem` where there is one, bad_request where the template refuses the conversation, and TemplateLimitError beyond its limits;
   * `quick`: already where it takes longer than other work should wait.
   */
  render(rendering: ChatRendering, options?: { quick?: boolean }): string;
  /** The rendering as plain data, without `callText`: for another thread. */
  portable(rendering: ChatRendering): ChatRendering;
}
