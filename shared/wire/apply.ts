import { z } from 'zod';
import type { Certificate } from '../certificates/certificate.ts';
import type { PublishedRoute } from '../route.ts';
import { globalsSchema } from '../settings.ts';
import { parseDomain } from '../values/host.ts';

/**
 * The apply stream: a controller's desired state as lines of JSON (`application/x-ndjson`) in the body
 * of POST /routes, and the data plane's lines back. A frame is everything from `apply` to `end`.
 */
export const APPLY_CONTENT_TYPE = 'application/x-ndjson';
/** A longer line is malformed. Bytes. */
export const MAX_LINE_BYTES = 1_048_576;
/** A blank line at least this often keeps a stream open. Milliseconds. */
export const KEEP_ALIVE_MS = 20_000;
/** A stream that says nothing for this long is over. Milliseconds. */
export const SILENCE_MS = 60_000;

/** Opaque to the data plane but for numbers of one epoch, which never go back. */
export const revisionSchema = z.union([z.int().min(0), z.string().min(1).max(256)]);
export type Revision = z.output<typeof revisionSchema>;

const sourceName = z.string().min(1).max(256);

export const applySchema = z.object({
  /** Stable over restarts of the same controller: it owns its routes under this name. */
  controller: z.string().min(1).max(256),
  /** The controller's start time in milliseconds since 1970. A lower one is stale. */
  epoch: z.int().min(0),
  revision: revisionSchema,
  /** null: the frame is the complete state of `sources`; otherwise the difference to that revision. */
  based_on: revisionSchema.nullable(),
  sources: z.array(sourceName).max(100),
  /** Whether this controller can re-read a config file when asked. */
  reload: z.boolean().default(false),
});

/** The outcome of a reload that was asked for on the stream; `errors` empty means that this frame is it. */
export const reloadOutcomeSchema = z.object({
  id: z.string().min(1).max(256),
  errors: z.array(z.string().max(8_192)).max(10_000).default([]),
});

export const removeSchema = z.object({ domain: z.string().min(1).max(253), source: sourceName });

/** No authority puts more names into one certificate. */
const MOST_DOMAINS = 100;
/** No chain and no key is longer (characters). */
const MOST_PEM = 262_144;
const certificateDomain = z.string().transform((text, issues) => {
  const parsed = parseDomain(text);
  if (parsed.ok) return parsed.value;
  issues.addIssue({ code: 'custom', message: parsed.reason });
  return z.NEVER;
});
const certificateDomains = z.array(certificateDomain).min(1).max(MOST_DOMAINS);

/** A certificate for these domains, used as it is. One source has one certificate for the same domains. */
export const certificateSchema = z.object({
  domains: certificateDomains,
  /** PEM: the chain from the leaf on, and the leaf's key. */
  certificate: z.string().max(MOST_PEM),
  private_key: z.string().max(MOST_PEM),
  source: sourceName,
});

/** The one for exactly these domains is no longer used. */
export const removeCertificateSchema = z.object({ domains: certificateDomains, source: sourceName });

/** Something that a controller could not use, for people to see in `explain`, `status` and the dashboard. */
export const problemSchema = z.object({
  source: sourceName,
  /** Which object, file line or container. */
  origin: z.string().max(1_024),
  /** The host that is affected, or null when none is known. */
  domain: z.string().max(253).nullable().default(null),
  code: z.string().min(1).max(64),
  message: z.string().max(8_192),
  /** RFC 3339. */
  since: z.string().max(64),
});

/** `problem` lines replace the reported problems of the frame's sources as a whole, in every frame. */
export const endSchema = z.object({ revision: revisionSchema });
export const settingsLineSchema = globalsSchema;

export type Apply = z.output<typeof applySchema>;
export type ApplyInput = z.input<typeof applySchema>;
export type ReloadOutcome = z.output<typeof reloadOutcomeSchema>;
export type Remove = z.output<typeof removeSchema>;
export type AppliedCertificate = z.output<typeof certificateSchema>;
export type RemoveCertificate = z.output<typeof removeCertificateSchema>;
export type Problem = z.output<typeof problemSchema>;

/** What a frame says of certificates. Domains in lower case. */
export type FrameCertificates = {
  readonly accepted: readonly { readonly domains: readonly string[]; readonly source: string; readonly pair: Certificate }[];
  /** Those that were none; the last good one for these domains stays. */
  readonly rejected: readonly { readonly domains: readonly string[]; readonly reason: string }[];
  readonly removed: readonly { readonly domains: readonly string[]; readonly source: string }[];
};

/** One line from the controller. `route` stays unread here: it is judged apart, so that a bad one spoils only itself. */
export const FRAME_LINES = [
  'apply',
  'route',
  'remove',
  'certificate',
  'remove_certificate',
  'settings',
  'problem',
  'reload',
  'end',
] as const;
export type FrameLineKind = (typeof FRAME_LINES)[number];

export type RouteOutcome = { domain: string; result: 'added' | 'changed' | 'unchanged' | 'rejected' | 'conflicted'; reason?: string };

export type CertificateOutcome = { domains: readonly string[]; result: RouteOutcome['result'] | 'removed'; reason?: string };

export type Applied = {
  /** The data plane's process: another one has to be told everything again. */
  instance: string;
  revision: Revision;
  /** The published state that holds the frame, acknowledged by every worker. */
  generation: number;
  results: RouteOutcome[];
  removed: string[];
  /** The results for certificates; absent if the frame neither added nor removed any. */
  certificates?: readonly CertificateOutcome[];
  /** Addresses of the data plane's own interfaces, in the answer to the first frame of a stream, to find shared networks. */
  addresses?: string[];
};

export type Refused = { error: string; current: Revision | null };

/** One line from the data plane. Blank lines between them are keep-alives. */
export type StreamLine =
  | { applied: Applied }
  | { refused: Refused }
  /** A reload was requested; the controller answers with a `reload` line with this id in its next frame. */
  | { reload: { id: string } }
  /** A controller's route was changed or removed by hand, so that it can be put back. */
  | { routes: { domain: string; change: 'removed' | 'replaced'; route: PublishedRoute | null } }
  /** A target came into rotation or left it by what the data plane saw itself. `id` is the one that its source gave it. */
  | { upstream: TargetReport };

/** `reason` in words, empty when it is healthy. */
export type TargetReport = { address: string; id?: string; transport?: string; healthy: boolean; reason: string };
