// A schema's first issue as an error that names the field and its value.

import type { z } from 'zod';
import { fieldError, RequestError, type RequestErrorCode } from '../http/errors.ts';
import { show } from './fields.ts';

interface Problem {
  path: PropertyKey[];
  issue: z.core.$ZodIssue;
}

/** The branch of a union that got furthest is taken as the intended one; none, if all refuse the type. */
function deepest(issue: z.core.$ZodIssue, base: PropertyKey[]): Problem {
  const path = [...base, ...issue.path];
  if (issue.code !== 'invalid_union') return { path, issue };
  const all = issue.errors.flatMap((branch) => branch.slice(0, 1)).map((inner) => deepest(inner, path));
  const problems = all.filter((problem) => isFurther(problem, { path, issue }));
  const best = problems.reduce<Problem>((far, next) => (isFurther(next, far) ? next : far), { path, issue });
  const level = problems.filter((problem) => !isFurther(best, problem));
  const values = best.issue.code === 'invalid_value' && best.path.length === path.length ? [best] : [];
  const types = all.filter((one) => one.issue.code === 'invalid_type' && one.path.length === path.length);
  // The value is none of the listed ones, and values of another type would be valid, too: the message lists both.
  if (values.length > 0 && types.length > 0) {
    const errors = [...values, ...types].map((problem) => [problem.issue]);
    return { path, issue: { code: 'invalid_union', path: [], message: issue.message, errors } };
  }
  if (level.length < 2 || best.issue.code !== 'invalid_type') return best;
  // Several branches failed equally deep: the message lists all kinds that were expected there.
  const errors = level.map((problem) => [problem.issue]);
  return { path: best.path, issue: { code: 'invalid_union', path: [], message: issue.message, errors } };
}

function isFurther(one: Problem, other: Problem): boolean {
  const reached = ({ path, issue }: Problem) => {
    if (/^invalid_(type|union)$/.test(issue.code)) return path.length;
    // Entries of a list that is too long were not checked.
    return path.length + (issue.code === 'too_big' && issue.origin === 'array' ? 1.5 : 0.5);
  };
  if (reached(one) !== reached(other)) return reached(one) > reached(other);
  const fork = one.path.findIndex((key, at) => key !== other.path[at]);
  return Number(one.path[fork]) > Number(other.path[fork]);
}

/** The first thing that is wrong, under its field's name. */
export function toRequestError(error: z.ZodError, body: unknown): RequestError {
  const first = error.issues[0];
  if (!first) return new RequestError('invalid_value', 'the body does not fit the interface');
  const { path, issue } = deepest(first, []);
  const param = path.map(String).join('.');
  const value = path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    body,
  );
  const { code, text } = describe(issue, value);
  return fieldError(param, text, code);
}

function describe(
  issue: z.core.$ZodIssue,
  value: unknown,
): { code: RequestErrorCode | 'unsupported'; text: string } {
  const got = `got ${show(value)}`;
  if (value === undefined && issue.code !== 'custom') {
    return { code: 'missing_required_parameter', text: 'is required' };
  }
  switch (issue.code) {
    case 'custom': {
      const code = issue.params?.['code'];
      const known =
        code === 'unsupported' || code === 'missing_required_parameter' || code === 'invalid_type';
      return { code: known ? code : 'invalid_value', text: issue.message };
    }
    case 'invalid_type':
      return { code: 'invalid_type', text: `must be ${article(issue.expected)}, ${got}` };
    case 'too_small':
    case 'too_big':
      return { code: 'invalid_value', text: describeBound(issue, value) };
    case 'invalid_value':
      return { code: 'invalid_value', text: `must be ${valuesText(issue)}, ${got}` };
    case 'invalid_key':
      return { code: 'invalid_value', text: 'is not a token id; keys are whole numbers' };
    case 'invalid_union': {
      const first = issue.errors.flatMap((branch) => branch.slice(0, 1));
      const kinds = first.flatMap((inner) => {
        if (inner.code === 'invalid_value') return [valuesText(inner)];
        return inner.code === 'invalid_type' ? [article(inner.expected)] : [];
      });
      const isValue = first.some((inner) => inner.code === 'invalid_value');
      const code = isValue ? 'invalid_value' : 'invalid_type';
      return { code, text: `must be ${kinds.join(' or ')}, ${got}` };
    }
    default:
      return { code: 'invalid_value', text: `is not valid: ${issue.message}, ${got}` };
  }
}

function valuesText({ values }: z.core.$ZodIssueInvalidValue): string {
  const [only] = values;
  return values.length === 1 ? show(only) : `one of ${values.map(String).join(', ')}`;
}

function describeBound(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, value: unknown): string {
  const isLow = issue.code === 'too_small';
  const bound = isLow ? issue.minimum : issue.maximum;
  if (typeof value === 'number') {
    const [closed, open] = isLow ? ['at least', 'greater than'] : ['at most', 'below'];
    const said = `must be ${issue.inclusive ? closed : open} ${bound}`;
    // JSON.parse has rounded an integer beyond the safe range, so the message does not repeat it.
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? said : `${said}, got ${show(value)}`;
  }
  const [one, many] = typeof value === 'string' ? ['character', 'characters'] : ['entry', 'entries'];
  return `must have at ${isLow ? 'least' : 'most'} ${bound} ${bound === 1 ? one : many}`;
}

function article(expected: string): string {
  const names: Record<string, string> = {
    int: 'a whole number',
    array: 'a list',
    record: 'an object',
    null: 'null',
  };
  return names[expected] ?? (/^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`);
}
