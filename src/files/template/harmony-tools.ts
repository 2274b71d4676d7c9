// Functions as the declarations in TypeScript that the harmony format describes them by. Source: openai-harmony.

export interface DescribedTool {
  function: { name: string; description?: string | null; parameters?: unknown };
}

type Schema = Record<string, unknown>;

/** The tools' section of a developer message. */
export function describeTools(tools: readonly DescribedTool[]): string {
  const declared = tools.map(({ function: { name, description, parameters } }) => {
    const type = isSchema(parameters) ? `(_: ${typeOf(parameters, '')})` : '()';
    return `${comment(linesOf(description ?? ''), '')}type ${name} = ${type} => any;\n\n`;
  });
  return `# Tools\n\n## functions\n\nnamespace functions {\n\n${declared.join('')}} // namespace functions`;
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Lines without their ends; a line break at the end begins no further line. */
function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

const comment = (lines: readonly string[], indent: string): string =>
  lines.map((line) => `${indent}// ${line}\n`).join('');

function typeOf(schema: Schema, indent: string): string {
  const { oneOf, type } = schema;
  if (Array.isArray(oneOf)) {
    const variants = oneOf.map((variant: unknown) => {
      const notes = [textIn(asSchema(variant)['description']), defaultNote(asSchema(variant), true)];
      return `\n${indent} | ${variantOf(variant, indent)}${trailing(notes)}`;
    });
    return variants.join('');
  }
  if (Array.isArray(type)) {
    const names = type.filter((name) => typeof name === 'string');
    if (names.length > 0) return names.map((name) => (name === 'integer' ? 'number' : name)).join(' | ');
  }
  switch (type) {
    case 'object':
      return objectType(schema, indent);
    case 'string':
      return enumType(schema) ?? 'string';
    case 'number':
    case 'integer':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'array':
      return schema['items'] === undefined ? 'Array<any>' : `${typeOf(asSchema(schema['items']), indent)}[]`;
    default:
      return 'any';
  }
}

const asSchema = (value: unknown): Schema => (isSchema(value) ? value : {});

function enumType({ enum: values }: Schema): string | null {
  const texts = Array.isArray(values) ? values.filter((value) => typeof value === 'string') : [];
  return texts.length > 0 ? texts.map((text) => `"${text}"`).join(' | ') : null;
}

function nullable(schema: Schema, type: string): string {
  return schema['nullable'] === true && !type.includes('null') ? `${type} | null` : type;
}

const variantOf = (variant: unknown, indent: string): string =>
  nullable(asSchema(variant), typeOf(asSchema(variant), `${indent}   `));

const trailing = (notes: readonly (string | null)[]): string => {
  const said = notes.filter((note) => note !== null);
  return said.length > 0 ? ` // ${said.join(' ')}` : '';
};

/** Defaults that are text are quoted, except for those of enums; `quotesEnums`: theirs, too. */
function defaultNote(schema: Schema, quotesEnums = false): string | null {
  const value = schema['default'];
  if (value === undefined) return null;
  const isEnum = Array.isArray(schema['enum']) && schema['enum'].length > 0;
  const text = typeof value === 'string' && isEnum && !quotesEnums ? value : JSON.stringify(value);
  return `default: ${text}`;
}

function objectType(schema: Schema, indent: string): string {
  const described = textIn(schema['description']);
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const properties = Object.entries(asSchema(schema['properties'])).map(([key, value]) =>
    property(`${key}${required.includes(key) ? '' : '?'}`, asSchema(value), indent),
  );
  return `${comment(described === null ? [] : [described], indent)}{\n${properties.join('')}${indent}}`;
}

function property(key: string, schema: Schema, indent: string): string {
  const { title, examples, oneOf } = schema;
  const description = textIn(schema['description']);
  const head =
    comment(typeof title === 'string' ? [title] : [], indent) +
    (typeof title === 'string' ? `${indent}//\n` : '');
  const shown = Array.isArray(examples) && examples.length > 0 ? ['Examples:', ...quoted(examples)] : [];
  if (Array.isArray(oneOf)) return head + comment(shown, indent) + alternatives(key, schema, oneOf, indent);
  const type = nullable(schema, typeOf(schema, `${indent}    `));
  const comments = comment([...(description === null ? [] : [description]), ...shown], indent);
  return `${head}${comments}${indent}${key}: ${type},${trailing([defaultNote(schema)])}\n`;
}

const quoted = (examples: readonly unknown[]): string[] =>
  examples.filter((example) => typeof example === 'string').map((example) => `- "${example}"`);

/** A property of several types, each in a line of its own. A description that the first type repeats is left out. */
function alternatives(key: string, schema: Schema, oneOf: readonly unknown[], indent: string): string {
  const description = textIn(schema['description']);
  const isRepeated = description !== null && description === asSchema(oneOf[0])['description'];
  const above = [isRepeated ? null : description, defaultNote(schema)].filter((line) => line !== null);
  const lines = oneOf.map((variant, at) => {
    const own = textIn(asSchema(variant)['description']);
    const isNew = own !== description && !(at === 0 && description !== null && !isRepeated);
    const notes = [isNew ? own : null, defaultNote(asSchema(variant))];
    return `${indent} | ${variantOf(variant, indent)}${trailing(notes)}\n`;
  });
  return `${comment(above, indent)}${indent}${key}:\n${lines.join('')}${indent},\n`;
}
