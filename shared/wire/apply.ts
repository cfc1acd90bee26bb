import * as z from 'zod';
import type { Certificate } from '../certificates/certificate.ts';
import { parseCertificateName } from '../certificates/default-certificate.ts';
import type { PublishedRoute } from '../route.ts';
import { globalsSchema } from '../settings.ts';
import { readBy } from '../values/read-by.ts';

/**
 * The apply stream: a controller's desired state as lines of JSON (`application/x-ndjson`) in the body of POST /routes, and the data
 * plane's lines in response. A frame is everything from `apply` to `end`.
 */
export const APPLY_CONTENT_TYPE = 'application/x-ndjson';
/** A longer line is malformed (bytes). A route of 10,000 blocks with a few targets each takes 8 MB. */
export const MAX_LINE_BYTES = 33_554_432;
/** A blank line at least this often keeps a stream open (ms). */
export const KEEP_ALIVE_MS = 20_000;
/** A stream without data for this long is closed (ms). */
export const SILENCE_MS = 60_000;

/** Opaque to the data plane, except that numbers within one epoch never decrease. */
export const revisionSchema = z.union([z.int().min(0), z.string().min(1).max(256)]);
export type Revision = z.output<typeof revisionSchema>;

const sourceName = z.string().min(1).max(256);

export const applySchema = z.object({
  /** Stable over restarts of the same controller: it owns its routes under this name. */
  controller: z.string().min(1).max(256),
  /** The controller's start time in milliseconds since 1970. A lower one is stale. */
  epoch: z.int().min(0),
  revision: revisionSchema,
  /** null: the frame is the complete state of `sources`; otherwise the difference from that revision. */
  based_on: revisionSchema.nullable(),
  sources: z.array(sourceName).max(100),
  /** Whether this controller can re-read a config file when asked. */
  reload: z.boolean().default(false),
});

/** The outcome of a reload that was requested on the stream. If `errors` is empty, this frame is the outcome. */
export const reloadOutcomeSchema = z.object({
  id: z.string().min(1).max(256),
  errors: z.array(z.string().max(8_192)).max(10_000).default([]),
});

export const removeSchema = z.object({ domain: z.string().min(1).max(253), source: sourceName });

/** The maximum number of names; no authority puts more into one certificate. */
const MAX_DOMAINS = 100;
/** The maximum length of a chain or a key (characters). */
export const MAX_PEM = 262_144;
const certificateDomains = z.array(readBy(parseCertificateName)).min(1).max(MAX_DOMAINS);

/** A certificate for these domains, used as it is. A source has one certificate for a given set of domains. */
export const certificateSchema = z.object({
  domains: certificateDomains,
  /** PEM: the chain starting with the leaf, and the leaf's key. */
  certificate: z.string().max(MAX_PEM),
  private_key: z.string().max(MAX_PEM),
  source: sourceName,
});

/** The certificate for exactly these domains is no longer used. */
export const removeCertificateSchema = z.object({ domains: certificateDomains, source: sourceName });

/** Something that a controller could not use, shown by `explain`, `status` and the dashboard. */
export const problemSchema = z.object({
  source: sourceName,
  /** The object, file line or container. */
  origin: z.string().max(1_024),
  /** The affected host, or null if none is known. */
  domain: z.string().max(253).nullable().default(null),
  code: z.string().min(1).max(64),
  message: z.string().max(8_192),
  /** RFC 3339. */
  since: z.string().max(64),
});

/** Whether something is true of a route, why, and since when (RFC 3339). */
const factSchema = z.object({ holds: z.boolean(), reason: z.string().max(8_192), since: z.string().max(64) });

/** How many domains fit into a line, even the longest. */
export const MAX_CONDITION_DOMAINS = 1_000;

/**
 * The conditions of a controller's routes to these domains. Sent only to a data plane that accepts lines of this kind. A frame with the
 * full state replaces all that its sources reported before; any other frame replaces the conditions of these domains.
 */
export const routeConditionSchema = z.object({
  source: sourceName,
  domains: z.array(z.string().min(1).max(253)).min(1).max(MAX_CONDITION_DOMAINS),
  accepted: factSchema.optional(),
  resolved: factSchema.optional(),
});

/** The `problem` lines of a frame replace all reported problems of its sources. */
export const endSchema = z.object({ revision: revisionSchema });
export const settingsLineSchema = globalsSchema;

export type Apply = z.output<typeof applySchema>;
export type ApplyInput = z.input<typeof applySchema>;
export type ReloadOutcome = z.output<typeof reloadOutcomeSchema>;
export type Remove = z.output<typeof removeSchema>;
export type AppliedCertificate = z.output<typeof certificateSchema>;
export type RemoveCertificate = z.output<typeof removeCertificateSchema>;
export type Fact = z.output<typeof factSchema>;
export type RouteCondition = z.output<typeof routeConditionSchema>;
export type Problem = z.output<typeof problemSchema>;

/** The certificates of a frame. Domains in lower case. */
export type FrameCertificates = {
  readonly accepted: readonly { readonly domains: readonly string[]; readonly source: string; readonly pair: Certificate }[];
  /** The invalid ones; the last good certificate for these domains remains. */
  readonly rejected: readonly { readonly domains: readonly string[]; readonly reason: string }[];
  readonly removed: readonly { readonly domains: readonly string[]; readonly source: string }[];
};

/** One line from the controller. `route` is not parsed here: it is validated separately, so that a bad one affects only itself. */
export const FRAME_LINES = [
  'apply',
  'route',
  'remove',
  'certificate',
  'remove_certificate',
  'settings',
  'problem',
  'condition',
  'reload',
  'end',
] as const;
/** The kinds of lines that older data planes reject; the response to the first frame of a stream lists those that this one accepts. */
export const ADDED_LINES = ['condition'] as const;
export type FrameLineKind = (typeof FRAME_LINES)[number];

export type RouteOutcome = { domain: string; result: 'added' | 'changed' | 'unchanged' | 'rejected' | 'conflicted'; reason?: string };

export type CertificateOutcome = { domains: readonly string[]; result: RouteOutcome['result'] | 'removed'; reason?: string };

export type Applied = {
  /** Identifies the data plane's process. A new one needs the complete state. */
  instance: string;
  revision: Revision;
  /** The published state that contains the frame, acknowledged by every worker. */
  generation: number;
  results: RouteOutcome[];
  removed: string[];
  /** The results for certificates; absent if the frame neither added nor removed any. */
  certificates?: readonly CertificateOutcome[];
  /** Addresses of the data plane's own interfaces, in the response to the first frame of a stream, used to find shared networks. */
  addresses?: string[];
  /**
   * Kinds of lines that are accepted on this stream but were unknown to earlier versions, in the response to its first frame. Absent in
   * older data planes.
   */
  accepts?: readonly string[];
};

export type RefusedFrame = { error: string; current: Revision | null };

/** One line from the data plane. Blank lines in between are keep-alives. */
export type StreamLine =
  | { applied: Applied }
  | { refused: RefusedFrame }
  /** A reload was requested; the controller answers with a `reload` line with this id in its next frame. */
  | { reload: { id: string } }
  /**
   * A controller's route was changed or removed through the Admin API, so it must be restored, or one that was refused because another
   * controller had the domain may be sent again.
   */
  | { routes: { domain: string; change: 'removed' | 'replaced'; route: PublishedRoute | null } }
  /** A target entered or left rotation by the data plane's own observation. `id` is the one assigned by its source. */
  | { upstream: TargetReport };

/** `reason` is for display, empty if healthy. */
export type TargetReport = { address: string; id?: string; transport?: string; healthy: boolean; reason: string };
