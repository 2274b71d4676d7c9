// What requests of a small model are prepared with: its tokenizer has a token for each byte, and its context 32 tokens.

import { GrammarCache } from '../../../../src/engine/text/threads/grammar-cache.ts';
import { createVocabulary } from '../../../../src/grammar/masks/vocabulary.ts';
import type { Begins } from '../../../../src/engine/text/output/format.ts';
import type { ReplyPlan } from '../../../../src/engine/text/output/reply-plan.ts';
import type { PreparedReply, RequestContext } from '../../../../src/engine/text/request/request-context.ts';
import { openChatTemplate } from '../../../../src/files/template/template.ts';
import { openTokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';
import { readConfig } from '../../../../src/models/config-values.ts';
import { readRope } from '../../../../src/models/text/blocks/rope-config.ts';
import { byteLevel } from '../../../files/tokenizer/small-tokenizers.ts';

export function smallContext(): RequestContext {
  const tokenizer = openTokenizer(byteLevel());
  return {
    tokenizer,
    output: { tools: null, reasoning: null, channels: null },
    name: 'small',
    longText: null,
    grammars: new GrammarCache(createVocabulary(tokenizer, 300, [261]), null),
    template: openChatTemplate(
      { default: '{% for m in messages %}{{ m.content }}{% endfor %}' },
      tokenizer.specials,
    ),
    vocabulary: 300,
    contextLength: 32,
    recording: { hiddenStates: false, routedExperts: false, experts: null },
    endIds: [261],
    suppressedIds: [],
    sampling: { temperature: 0.4, topP: 0.9, topK: 20, minP: 0.05, repetitionPenalty: 1 },
    ropes: [readRope(readConfig('config.json', {}), 64)],
    prefixCache: true,
    looksDraftsUp: false,
    jsonSchemaMode: 'declared',
    library: null,
    ownLoras: [],
    checkProcessor: null,
    source: null,
  };
}

/** A prepared request without grammars, stops and media. */
export function preparedOf(plan: ReplyPlan, ids: number[], begins: Begins = 'undecided'): PreparedReply {
  const grammars = { reply: null, calls: null, compileMs: null, unenforced: [] };
  return {
    plan,
    prompt: { text: '', ids, begins, said: '', media: null },
    grammars,
    stops: [],
    lora: null,
    predicted: [],
  };
}
