import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseHost } from '../../../shared/values/host.ts';
import { parseRequestUrl, type RequestUrl } from '../../../shared/values/request-url.ts';
import { APPLY_CONTENT_TYPE } from '../../../shared/wire/apply.ts';
import { displaySafe } from '../../../shared/wire/errors.ts';
import type { ControllerStatus } from '../../../shared/wire/status.ts';
import { ALL_HOSTS } from '../../analytics/history/store.ts';
import { ApplyStream } from '../apply/apply-stream.ts';
import type { ControllerStreams, ReloadResult } from '../apply/controller-streams.ts';
import type { Reload } from '../apply/reload.ts';
import { serveDashboard } from '../dashboard/dashboard.ts';
import type { AdminDependencies } from '../dependencies.ts';
import { EventStreams, eventsOf, type Send, type Subscribe } from '../events/event-stream.ts';
import { HistoryFeeds } from '../events/history-feeds.ts';
import { SharedFeed } from '../events/shared-feed.ts';
import { ApiError } from '../http/errors.ts';
import { sendJson, sendList } from '../http/json.ts';
import type { Call } from './call.ts';
import { deleteCertificate, getInternalRoot, postCertificate, retryCertificate } from './certificates.ts';
import { requireDomain } from './domain.ts';
import type { HandlerName } from './endpoints.ts';
import { forgetAnalytics, getHistory, historyText, readRange } from './history.ts';
import { MetricsEndpoint } from './metrics.ts';
import { purgeMany, purgeOne } from './purge.ts';
import { deleteRoute, listRoutes, orApiError, postRoute } from './routes.ts';
import { withFloats } from './snapshot-json.ts';

/** How often the overview is computed while anyone reads it (ms). */
const OVERVIEW_EVERY_MS = 2_000;

export type Handlers = Readonly<Record<HandlerName, (call: Call) => unknown>>;

/** The endpoints' handlers, called after all checks (token, limit, path, method) have passed. */
export function createHandlers(parts: AdminDependencies, streams: ControllerStreams, reload: Reload): Handlers {
  const { table } = parts;
  const connected = () => ({ controllers: controllersOf(parts, streams), last_reload: reload.last });
  const overview = new SharedFeed({
    ...parts,
    ...{ name: 'the overview', everyMs: OVERVIEW_EVERY_MS },
    compute: async () => `event: overview\ndata: ${JSON.stringify(await parts.overview(connected()))}\n\n`,
  });
  const histories = new HistoryFeeds({ ...parts, text: (host, range) => historyText(host, range, 'json', parts) });
  const eventStreams = new EventStreams(parts.clock);
  const metrics = parts.metrics && new MetricsEndpoint(parts.metrics, (controller) => streams.isConnected(controller));
  return {
    health: ({ response }) => sendJson(response, 200, { status: 'ok', uptime_secs: parts.uptimeSecs() }),
    ready: ({ response }) => {
      const { ready, reason } = parts.ready();
      const words = reason === null ? {} : { [ready ? 'waiting' : 'error']: displaySafe(reason) };
      sendJson(response, ready ? 200 : 503, { ready, ...words });
    },
    listRoutes: (call) => listRoutes(call, parts),
    postRoute: (call) =>
      isApply(call.request)
        ? new ApplyStream(call.request, call.response, { ...parts, streams, loaded: (errors) => reload.loaded(errors) }).serve()
        : postRoute(call, parts),
    deleteRoute: (call) => deleteRoute(call, parts),
    metrics: async ({ response }) => {
      if (metrics === null) throw new ApiError('metricsOff');
      await metrics.serve(response);
    },
    listAnalytics: async ({ response }) => sendList(response, await parts.analytics.snapshots(), withFloats),
    oneAnalytics: async ({ response, segments: [segment = ''] }) => {
      const snapshot = await parts.analytics.snapshot(requireDomain(parseHost(segment)));
      if (snapshot === undefined) throw new ApiError('analyticsNotFound');
      sendJson(response, 200, withFloats(snapshot));
    },
    forgetAnalytics: (call) => forgetAnalytics(call, parts),
    history: ({ segments: [segment = ''], ...call }) => getHistory(call, requireDomain(parseHost(segment)), parts),
    historyOfAll: (call) => getHistory(call, ALL_HOSTS, parts),
    purge: (call) => purgeOne(call, parts),
    purgeMany: (call) => purgeMany(call, parts),
    reload: async ({ response, query }) => {
      const outcome = reload.trigger();
      if (query.get('wait') !== 'true') return sendJson(response, 200, { message: 'config reload triggered' });
      sendOutcome(response, await outcome);
    },
    events: ({ response, query }) => {
      const view = query.get('view');
      if (view !== null && view !== 'dashboard') throw new ApiError('invalidQuery', 'view must be "dashboard" or absent');
      if (view === null) return eventStreams.serve(response, [eventsOf(parts.events)]);
      const history = query.get('history');
      const subscriptions = [
        (send: Send) => overview.subscribe((text) => send(text, 'overview')),
        ...(history === null ? [] : [eventsOfHistory(history, query, histories, parts)]),
      ];
      return eventStreams.serve(response, subscriptions);
    },
    forgetController: async ({ response, segments: [id = ''] }) => {
      if (streams.isConnected(id)) throw new ApiError('controllerConnected');
      const routes = await orApiError(table.forget(id));
      if (routes === null) throw new ApiError('controllerNotFound');
      sendJson(response, 200, { deleted: id, routes });
    },
    alerts: async ({ response }) => sendList(response, await parts.alerts(connected())),
    listCertificates: async ({ response }) => sendList(response, await parts.certificates.list()),
    internalRoot: (call) => getInternalRoot(call, parts),
    postCertificate: (call) => postCertificate(call, parts),
    retryCertificate: (call) => retryCertificate(call, parts),
    deleteCertificate: (call) => deleteCertificate(call, parts),
    upstreams: ({ response }) => sendList(response, parts.upstreams()),
    dashboard: ({ request, response }) => serveDashboard(request, response),
    toDashboard: ({ response }) => void response.writeHead(308, { location: 'dashboard/' }).end(),
    explain: async ({ response, query }) => sendJson(response, 200, await parts.explain(urlOf(query.get('url')))),
    settings: ({ response }) => sendJson(response, 200, parts.settings()),
    status: ({ response }) => sendJson(response, 200, { ...parts.status(), ...connected() }),
  };
}

/** `history=DOMAIN`, or `*` for all hosts, with the period in the other parameters. @throws ApiError */
function eventsOfHistory(subject: string, query: URLSearchParams, histories: HistoryFeeds, parts: AdminDependencies): Subscribe {
  const host = subject === '*' ? ALL_HOSTS : requireDomain(parseHost(subject));
  return histories.of(host, readRange(query, parts));
}

const isApply = (request: IncomingMessage): boolean =>
  (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() === APPLY_CONTENT_TYPE;

function sendOutcome(response: ServerResponse, result: ReloadResult | null): void {
  if (result === null) throw new ApiError('reloadUnanswered', 'the controller may still be working on it; see `status`');
  if (result.errors.length > 0) throw new ApiError('reloadFailed', '', { body: { errors: result.errors } });
  const count = (wanted: string): number => result.applied?.results.filter((outcome) => outcome.result === wanted).length ?? 0;
  const applied = {
    added: count('added'),
    changed: count('changed'),
    removed: result.applied?.removed.length ?? 0,
    unchanged: count('unchanged'),
  };
  sendJson(response, 200, { message: 'config reloaded', applied });
}

/** `HOST[/PATH]` or a whole URL. */
function urlOf(text: string | null): RequestUrl {
  if (text === null || text === '') throw new ApiError('invalidQuery', 'url is missing (expected ?url=https://HOST/PATH)');
  const url = parseRequestUrl(text);
  if (url === null) throw new ApiError('invalidQuery', 'url is not a URL (expected HOST[/PATH] or https://HOST/PATH)');
  return url;
}

function controllersOf({ table }: AdminDependencies, streams: ControllerStreams): ControllerStatus[] {
  return table.controllers().map(({ id, epoch, revision, sources, confirmed, lastApplied }) => {
    const away = streams.awaySince(id);
    return {
      id,
      connected: streams.isConnected(id),
      reloadable: streams.isReloadable(id),
      epoch,
      revision,
      sources: [...sources],
      listed: Object.keys(confirmed),
      last_applied: new Date(lastApplied).toISOString(),
      ...(away !== undefined && { away_since: new Date(away).toISOString() }),
    };
  });
}
