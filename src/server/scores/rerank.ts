// POST /v1/rerank, /rerank and /v2/rerank: documents in the order in which they fit a query, in the form of Cohere, Jina and vLLM, or that of TEI.

import { randomUUID } from 'node:crypto';
import { refuseField } from '../http/errors.ts';
import { bodyRoute } from '../service/route.ts';
import { judgeOf, RANKING, underNames } from './judging.ts';
import { RERANK_FIELDS } from './score-schema.ts';

export const RERANK = bodyRoute(
  {
    summary: 'Documents by how well they fit a query, with their scores.',
    group: 'Embeddings',
    fields: RERANK_FIELDS,
    required: ['query'],
    mayBeEmpty: ['documents', 'texts'],
    checkTogether: checkDocuments,
    reply: 'Reranked',
    schemas: [() => import('./score-reply-schema.ts')],
  },
  async ({ service, event, body }) => {
    const { query, documents, texts: given, top_n: top = 0, truncate, raw_scores: isRaw } = body;
    const texts = given ?? documents!.map((one) => (typeof one === 'string' ? one : one.text));
    const { model, info, options, usage } = await judgeOf({ service, event }, body, RANKING);
    const list = given ? 'texts' : 'documents';
    // A model of vectors reads the query first.
    const nameOf = (input: number): string => {
      const at = info.classifier ? input : input - 1;
      return at < 0 ? 'query' : `${list}.${at}`;
    };
    const ranked = await underNames(nameOf, () =>
      model.rank(query, texts, {
        ...options,
        ...(truncate && { truncate: -1 }),
        ...(isRaw && { activation: false }),
        ...(top > 0 && { top }),
      }),
    );
    if (given)
      return ranked.map(({ index, score, text }) => ({ index, score, ...(body.return_text && { text }) }));
    const withText = body.return_documents ?? true;
    return {
      id: `rerank-${randomUUID()}`,
      model: body.model ?? 'default',
      results: ranked.map(({ index, score, text }) => ({
        index,
        relevance_score: score,
        ...(withText && { document: { text } }),
      })),
      usage: usage(),
    };
  },
);

function checkDocuments({ documents, texts }: { documents?: unknown; texts?: unknown }): void {
  if (documents === undefined && texts === undefined)
    refuseField('documents', 'is required; send the texts to rank', 'missing_required_parameter');
  if (documents !== undefined && texts !== undefined)
    refuseField('texts', 'and documents are both there; send one of them');
}
