import { z } from 'zod';
import { routeSchema } from '../../shared/route.ts';

/** What of a JSON schema this page shows. */
type Schema = {
  /** The part of a route that an object is. */
  readonly title?: string;
  readonly about?: string;
  readonly description?: string;
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

/** docs/reference/routes.md, out of the schema by which every route is read and the words that stand in it. */
export async function routesPage(): Promise<string> {
  const schema = z.toJSONSchema(routeSchema, { io: 'input', unrepresentable: 'any' }) as Schema;
  const sections = [...partsOf(schema)].map(([title, part]) => {
    const rows = membersOf(part).map(([member, type, fallback, words]) => {
      if (words === undefined) throw new Error(`the schema says nothing about ${title}.${member}`);
      return `| \`${member}\` | ${type} | ${fallback} | ${words} |\n`;
    });
    return `## ${title}\n\n${part.about}\n\n| member | type | default | |\n|---|---|---|---|\n${rows.join('')}`;
  });
  return `${HEAD}\n${sections.join('\n')}`;
}

/** The objects that a route is made of, by their titles, the outer ones first. */
function partsOf(schema: Schema): Map<string, Schema> {
  const parts = new Map<string, Schema>();
  for (let level = [schema]; level.length > 0; level = level.flatMap(inside))
    for (const one of level) if (one.title !== undefined && one.properties && !parts.has(one.title)) parts.set(one.title, one);
  return parts;
}

const inside = ({ anyOf = [], items, properties = {} }: Schema): Schema[] => [
  ...anyOf,
  ...(items ? [items] : []),
  ...Object.values(properties),
];

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

function membersOf({
  properties = {},
  required = [],
}: Schema): [name: string, type: string, fallback: string, words: string | undefined][] {
  return Object.entries(properties).map(([name, schema]) => {
    const fallback = required.includes(name) ? 'required' : schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``;
    return [name, typeOf(schema), fallback, schema.description];
  });
}

function typeOf(schema: Schema): string {
  if (schema.anyOf?.every((one) => 'const' in one)) return schema.anyOf.map((one) => `\`${one.const}\``).join(', ');
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one)).join(' or ');
  if (schema.enum) return schema.enum.map((one) => `\`${JSON.stringify(one)}\``).join(', ');
  if ('const' in schema) return `\`${JSON.stringify(schema.const)}\``;
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  if (schema.type === 'array') return `list${upTo(schema.maxItems)} of ${typeOf(schema.items ?? {})}`;
  if (schema.type === 'object') return schema.title === undefined ? 'object' : `[${schema.title}](#${schema.title})`;
  if (schema.type === 'integer') return `integer from ${grouped(schema.minimum)} to ${grouped(schema.maximum)}`;
  return `${schema.type ?? 'string'}${schema.maxLength === undefined ? '' : `, ${grouped(schema.maxLength)} characters at most`}`;
}

const upTo = (most: number | undefined): string => (most === undefined ? '' : ` (${grouped(most)} at most)`);
const grouped = (number: number | undefined): string => (number ?? 0).toLocaleString('en-US');
