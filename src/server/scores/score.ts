// POST /v1/score and /score: how well texts fit a query, or each its own, as vLLM has it.

import { refuseField } from '../http/errors.ts';
import { bodyRoute } from '../service/route.ts';
import { judgeOf, RANKING, replyHead, underNames } from './judging.ts';
import { SCORE_FIELDS } from './score-schema.ts';

export const SCORE = bodyRoute(
  {
    summary: 'How well texts fit a query, or each its own; text_1 with text_2, or queries with documents.',
    group: 'Embeddings',
    fields: SCORE_FIELDS,
    checkTogether: (body) => void textsOf(body),
    reply: 'Scores',
    schemas: [() => import('./score-reply-schema.ts')],
  },
  async ({ service, event, body }) => {
    const { queries, texts, names } = textsOf(body);
    const { model, info, options, usage } = await judgeOf({ service, event }, body, RANKING);
    const nameOf = (input: number): string => {
      if (info.classifier) return `${names[1]}.${input}`;
      return input < queries.length ? `${names[0]}.${input}` : `${names[1]}.${input - queries.length}`;
    };
    const scores = await underNames(nameOf, () => model.score(queries, texts, options));
    const data = scores.map((score, index) => ({ index, object: 'score', score }));
    return { ...replyHead('score', body.model), data, usage: usage() };
  },
);

type Texts = string | string[];
interface ScoreBody {
  text_1?: Texts | undefined;
  text_2?: Texts | undefined;
  queries?: Texts | undefined;
  documents?: Texts | undefined;
}

/** Throws for a body that lacks texts, has them under both names, or has another number of queries than one or that of the texts. */
function textsOf(body: ScoreBody): { queries: string[]; texts: string[]; names: [string, string] } {
  const [query, queryName] = oneOf(body, 'text_1', 'queries');
  const [text, textName] = oneOf(body, 'text_2', 'documents');
  const [queries, texts] = [[query].flat(), [text].flat()];
  if (queries.length !== 1 && queries.length !== texts.length)
    refuseField(
      queryName,
      `has ${queries.length} texts and ${textName} ${texts.length}; send one, or as many as there`,
    );
  return { queries, texts, names: [queryName, textName] };
}

function oneOf<Name extends keyof ScoreBody>(body: ScoreBody, ...names: [Name, Name]): [Texts, Name] {
  const [first, second] = names;
  const given = names.filter((name) => body[name] !== undefined);
  const [name] = given;
  if (name === undefined)
    return refuseField(first, `is required, or ${second}; send one of them`, 'missing_required_parameter');
  if (given.length > 1) refuseField(second, `and ${first} are both there; send one of them`);
  return [body[name]!, name];
}
