import { type Rules, rulesByName, type SiteDraft } from '../sites/rule.ts';
import { basicAuth } from './basic-auth.ts';
import { handle, handlePath } from './handle.ts';
import { header } from './header.ts';
import { hold } from './hold.ts';
import { pathCase } from './path-case.ts';
import { rateLimit } from './rate-limit.ts';
import { redir } from './redir.ts';
import { respond } from './respond.ts';
import { reverseProxy } from './reverse-proxy.ts';
import { tls } from './tls.ts';
import { transport } from './transport.ts';

/** Everything that a site can say, and what it will be able to say. */
export const SITE_RULES: Rules<SiteDraft> = rulesByName(
  [reverseProxy, hold, rateLimit, redir, basicAuth, header, respond, handle, handlePath, pathCase, tls, transport],
  [
    'analytics',
    'cache',
    'encode',
    'file_server',
    'forward_auth',
    'health_uri',
    'ip_filter',
    'lb_policy',
    'log',
    'request_body',
    'root',
    'under_attack',
  ],
  ['site', 'handle'],
);
