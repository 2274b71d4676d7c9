// What requests are prepared with, and what a request has become before its sequences are made.

import type { Grammar } from '../../../grammar/grammar.ts';
import type { StopAutomata } from '../../../grammar/stops/stop-automaton.ts';
import type { SchemaMode } from '../../../grammar/text-constraint.ts';
import type { RopeConfig } from '../../../models/text/blocks/rope.ts';
import type { SamplingOptions, UnenforcedKeyword } from '../calls/text-model.ts';
import type { Lora } from '../lora/loras.ts';
import type { OwnLora } from '../lora/own-loras.ts';
import type { MediaLibrary } from '../media/library.ts';
import type { CallGrammars } from '../output/call-constraint.ts';
import type { Begins } from '../output/format.ts';
import type { ReplyContext, ReplyPlan } from '../output/reply-plan.ts';
import type { RecordableData } from '../run/recorder.ts';
import type { GrammarCache } from '../threads/grammar-cache.ts';
import type { LongTextEncoder } from '../threads/text-threads.ts';
import type { SourceText } from '../step/step-part.ts';
import type { PromptMedia } from '../towers/prompt-media.ts';
import type { SourceSettings } from './source-settings.ts';

export interface RequestContext extends ReplyContext {
  /** Encodes long texts in another thread; null: there is none. */
  longText: LongTextEncoder | null;
  grammars: GrammarCache;
  vocabulary: number;
  contextLength: number;
  endIds: readonly number[];
  /** Tokens that no reply has. */
  suppressedIds: readonly number[];
  ropes: readonly RopeConfig[];
  /** Whether requests share pages. */
  prefixCache: boolean;
  /** Whether drafts are looked up in texts, a request's prediction among them. */
  looksDraftsUp: boolean;
  /** How JSON Schemas of requests that do not say `strict` are read. */
  jsonSchemaMode: SchemaMode;
  recording: RecordableData;
  sampling: Required<SamplingOptions>;
  /** How prompts are read as sources; null: the model goes on with the prompt. */
  source: SourceSettings | null;
  /** Reads media of messages; null: the model takes text only. */
  library: MediaLibrary | null;
  /** LoRAs that the model has for prompts with media. */
  ownLoras: readonly OwnLora[];
  /** Compiles a request's own function on logits; null: the model does not accept one. */
  checkProcessor: ((source: string) => Promise<void>) | null;
}

export interface RenderedPrompt {
  text: string;
  begins: Begins;
  /** Text of the answer that is part of the prompt; '' if the answer has not begun. */
  said: string;
  ids: number[];
  /** null: the prompt has no media. */
  media: PromptMedia | null;
  /** The prompt as a source, behind whose places `ids` begin the reply; left out: `ids` are the prompt. */
  source?: SourceText;
}

export interface ReplyGrammars {
  /** Grammar of the whole reply; null: none restricts it. */
  reply: Grammar | null;
  /** Grammars of optional calls; null: none restricts them. */
  calls: CallGrammars | null;
  /** Milliseconds that the grammar of the reply took to compile; null: there is none, or it was compiled already. */
  compileMs: number | null;
  /** Keywords of tools' parameters that do not restrict calls. */
  unenforced: readonly UnenforcedKeyword[];
}

/** What the choices of a request share. */
export interface PreparedReply {
  plan: ReplyPlan;
  prompt: RenderedPrompt;
  grammars: ReplyGrammars;
  stops: readonly StopAutomata[];
  /** null: the base model. */
  lora: Lora | null;
  /** Token ids of the request's prediction; [] if it has none. */
  predicted: readonly number[];
}
