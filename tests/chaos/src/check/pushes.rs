//! Rules over reminders: which due dates are sent, and how often each is tried.
//!
//! Promised is at least once under one id (`webhook-id`), each try under a claim of its own: a receiver gets twice what
//! failed, and what a sender posted that died before it could record it.

use super::Rule;

/// `p` is a state of a push, `h` the one after it.
macro_rules! steps {
    ($condition:literal) => {
        concat!(
            "with steps as (select h.*, lag(status) over w p_status, lag(epoch) over w p_epoch, lag(tries) over w p_tries, \
                 lag(sending_until) over w p_until from chaos.push_history h \
                 window w as (partition by user_id, subscription_id, delivery_id order by seq)) \
             select format('%s of %s: %s e%s -> %s e%s by %s at %s', delivery_id, user_id, p_status, p_epoch, status, epoch, \
                 writer, at) from steps where p_status is not null and (",
            $condition,
            ") order by seq"
        )
    };
}

pub(super) const RULES: &[Rule] = &[
    (
        "a due date is told to each subscription by the transaction that sets it",
        "select format('%s of %s, due %s: %s pushes', d.item, d.user_id, d.due_at, n) from chaos.dues d \
         join chaos.subscriptions s using (user_id) cross join lateral (select count(*) n from chaos.push_history h \
             where h.user_id = d.user_id and h.subscription_id = s.subscription_id and h.item = d.item and h.tx = d.tx \
                 and h.op = 'INSERT' and h.notice = 'set' and h.due_at = d.due_at) p where d.is_set and n <> 1",
    ),
    (
        "a moment that has come is told once to each subscription",
        "select format('%s of %s, due %s: %s pushes', i.action_item_id, i.user_id, i.due_at, n) from action_items i \
         join chaos.subscriptions s using (user_id) cross join lateral (select count(*) n from push_deliveries p \
             where p.user_id = i.user_id and p.subscription_id = s.subscription_id \
                 and p.action_item_id = i.action_item_id and p.notice = 'due' and p.due_at = i.due_at) p \
         where not i.completed and i.updated_at < i.due_at and i.due_at < clock_timestamp() and n <> 1",
    ),
    (
        "no moment is told of twice, or before it comes",
        "select format('%s of %s, due %s: %s pushes, the first at %s', item, user_id, due_at, count(*), min(at)) \
         from chaos.push_history where op = 'INSERT' and notice = 'due' \
         group by user_id, subscription_id, item, due_at having count(*) > 1 or min(at) < due_at",
    ),
    (
        "no push in flight is claimed again",
        steps!(
            "p_status = 'sending' and at < p_until and (status = 'pending' and tries > p_tries or epoch > p_epoch)"
        ),
    ),
    (
        "a try of a push has an epoch of its own",
        steps!(
            "(status = 'sending' and (epoch <> p_epoch + 1 or tries <> p_tries + 1)) \
                 or (status <> 'sending' and (epoch <> p_epoch or tries <> p_tries))"
        ),
    ),
    ("a push that ended never moves", steps!("p_status in ('delivered', 'exhausted', 'cancelled')")),
    (
        "the end of a try is written by the process that took it, unless its item changed",
        "with steps as (select h.*, lag(status) over w p_status, lag(writer) over w p_writer, lag(sending_until) over w \
                 p_until from chaos.push_history h \
                 window w as (partition by user_id, subscription_id, delivery_id order by seq)) \
         select format('%s of %s: taken by %s, %s by %s', delivery_id, user_id, p_writer, status, writer) from steps \
         where p_status = 'sending' and status in ('delivered', 'pending') and at < p_until and writer <> p_writer",
    ),
    (
        "a push is posted no more often than it was tried",
        "select format('%s to %s: %s posts, %s tries', p.delivery_id, p.endpoint, count(*), max(t.tries)) \
         from chaos.pushed p cross join lateral (select coalesce(max(tries), 0) tries from chaos.push_history h \
             where h.user_id = p.endpoint and h.delivery_id = p.delivery_id) t \
         group by p.delivery_id, p.endpoint having count(*) > max(t.tries)",
    ),
    (
        "a push that is called delivered was received",
        "select format('%s of %s', h.delivery_id, h.user_id) from chaos.push_history h where h.status = 'delivered' \
             and not exists (select from chaos.pushed p where p.delivery_id = h.delivery_id and p.status = 204)",
    ),
    (
        "a push says what was written down: its item and its date",
        "select format('%s to %s: item %L, due %L', p.delivery_id, p.endpoint, p.item, p.due_at) from chaos.pushed p \
         where not exists (select from chaos.push_history h where h.user_id = p.endpoint \
             and h.delivery_id = p.delivery_id and h.item = p.item \
             and abs(extract(epoch from h.due_at - p.due_at::timestamptz)) < 0.001)",
    ),
    (
        "no reminder is sent for a completed item",
        "select format('%s of %s, taken at %s', h.delivery_id, h.user_id, h.at) from chaos.push_history h \
         cross join lateral (select d.* from chaos.dues d where d.user_id = h.user_id and d.item = h.item \
             and d.at < h.at order by d.seq desc limit 1) d \
         where h.status = 'sending' and h.op = 'UPDATE' and d.completed and d.at < h.at - interval '11 seconds'",
    ),
    (
        "no push is under way for ever, and no reminder is late",
        "select format('push %s of %s until %s', delivery_id, user_id, sending_until) from push_deliveries \
         where status = 'sending' and sending_until < clock_timestamp() - interval '60 seconds' \
         union all select format('reminder of %s, due %s', action_item_id, due_at) from reminders \
         where fire_at < clock_timestamp() - interval '60 seconds'",
    ),
    (
        "there were reminders to check",
        "select format('no push of a date that was %s', notice) from (values ('set'), ('due')) v (notice) \
         where not exists (select from chaos.push_history h join chaos.pushed p on p.delivery_id = h.delivery_id \
             where h.notice = v.notice and h.status = 'delivered')",
    ),
];
