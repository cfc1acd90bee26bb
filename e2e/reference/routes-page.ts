import { z } from 'zod';
import { routeSchema } from '../../shared/route.ts';
import { PARTS, WORDS } from './routes-words.ts';

/** What of a JSON schema this page shows. */
type Schema = {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxLength?: number;
};

/** docs/reference/routes.md, out of the schema by which every route is read. */
export async function routesPage(): Promise<string> {
  const schema = z.toJSONSchema(routeSchema, { io: 'input', unrepresentable: 'any' }) as Schema;
  const said = new Set<string>();
  const sections = PARTS.map(({ name, at, about }) => {
    const rows = membersOf(find(schema, at)).map(([member, type, fallback]) => {
      const key =
        name === 'handle' && `route.${member}` in WORDS && !(`handle.${member}` in WORDS) ? `route.${member}` : `${name}.${member}`;
      const words = WORDS[key];
      if (words === undefined) throw new Error(`e2e/reference/routes-words.ts says nothing about ${key}`);
      said.add(key);
      return `| \`${member}\` | ${type} | ${fallback} | ${words} |\n`;
    });
    return `## ${name}\n\n${about}\n\n| member | type | default | |\n|---|---|---|---|\n${rows.join('')}`;
  });
  const unknown = Object.keys(WORDS).find((key) => !said.has(key));
  if (unknown !== undefined) throw new Error(`e2e/reference/routes-words.ts speaks of ${unknown}, which the schema does not know`);
  return `${HEAD}\n${sections.join('\n')}`;
}

const HEAD = `# What a route can say

This page is made from the schema by which every route is read: \`sh scripts/reference.sh\` writes it. The members are those of \`POST /routes\`, of the
\`route\` lines of an apply stream, of \`GET /routes?view=full\` and of \`sluice adapt\`. Members that are not known are ignored. All but the required ones may be left out;
a POST replaces the whole route. [The Sluicefile](sluicefile.md) says what each of them does to a request.

\`\`\`json
{
  "domain": "shop.example.com",
  "upstream": "10.0.0.5:3000",
  "tls": false,
  "upstreams": [{ "address": "10.0.0.5:3000" }, { "address": "10.0.0.6:3000", "weight": 2 }],
  "rate_limit_rps": 50,
  "headers": [{ "name": "X-Frame-Options", "value": "DENY" }, { "name": "Server", "value": null }],
  "redirects": [{ "from": "/old/*", "to": "/new/{remainder}", "status": 308 }],
  "handles": [
    { "path": "/health", "respond": { "status": 200, "body": "ok" } },
    { "path": "/admin/*", "match": { "name": "@outside", "not": [{ "remote_ip": ["10.0.0.0/8"] }] }, "respond": { "status": 404 } }
  ]
}
\`\`\`
`;

/** Follows member names; \`[]\` is what a list is of. */
function find(schema: Schema, at: readonly string[]): Schema {
  return at.reduce((found, step) => {
    const object = found.anyOf?.find(({ type }) => type === 'object') ?? found;
    const next = step === '[]' ? object.items : object.properties?.[step];
    if (!next) throw new Error(`the schema of a route has no ${at.join('.')}`);
    return next.anyOf?.find(({ type }) => type === 'object') ?? next;
  }, schema);
}

function membersOf({ properties = {}, required = [] }: Schema): [name: string, type: string, fallback: string][] {
  return Object.entries(properties).map(([name, schema]) => {
    const fallback = required.includes(name) ? 'required' : schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``;
    return [name, typeOf(schema, name), fallback];
  });
}

function typeOf(schema: Schema, name: string): string {
  const part = PARTS.find(({ at }) => at.findLast((step) => step !== '[]') === name)?.name;
  if (schema.anyOf?.every((one) => 'const' in one)) return schema.anyOf.map((one) => `\`${one.const}\``).join(', ');
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one, name)).join(' or ');
  if (schema.enum) return schema.enum.map((one) => `\`${JSON.stringify(one)}\``).join(', ');
  if ('const' in schema) return `\`${JSON.stringify(schema.const)}\``;
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  if (schema.type === 'array') return `list${upTo(schema.maxItems)} of ${typeOf(schema.items ?? {}, name)}`;
  if (schema.type === 'object') return part === undefined ? 'object' : `[${part}](#${part})`;
  if (schema.type === 'integer') return `integer from ${grouped(schema.minimum)} to ${grouped(schema.maximum)}`;
  return `${schema.type ?? 'string'}${schema.maxLength === undefined ? '' : `, ${grouped(schema.maxLength)} characters at most`}`;
}

const upTo = (most: number | undefined): string => (most === undefined ? '' : ` (${grouped(most)} at most)`);
const grouped = (number: number | undefined): string => (number ?? 0).toLocaleString('en-US');
