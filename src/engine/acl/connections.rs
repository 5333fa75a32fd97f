//! Ends connections whose user is gone, or may no longer listen to what they listen to.

use super::User;
use super::file::Replaced;
use super::rights::Rights;
use crate::engine::Engine;
use crate::engine::client::{Client, ClientId};
use crate::engine::session::Session;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Engine {
    /// Ends all connections of a user. That of `session`, if it is one of them, ends when it has its reply.
    pub fn end_connections_of(&mut self, user: &[u8], session: &mut Session) {
        for client in self.clients.all() {
            let is_of_user = client.names().user == user;
            if is_of_user {
                self.end_connection(&client, session);
            }
        }
    }

    /// Ends the connections of a user that listen to what the user may no longer listen to.
    pub fn end_lost_listeners(&mut self, user: &User, before: &Rights, session: &mut Session) {
        let rights = user.rights();
        if rights.keeps_channels_of(before) {
            return;
        }
        let lost: BTreeMap<ClientId, Arc<Client>> = self
            .pubsub
            .subscriptions()
            .filter(|(channel, is_pattern, client)| {
                client.names().user == user.name() && !rights.may_listen(channel, *is_pattern)
            })
            .map(|(_, _, client)| (client.id, client.clone()))
            .collect();
        for client in lost.values() {
            self.end_connection(client, session);
        }
    }

    /// Ends the connections that do not survive that all users were replaced.
    pub fn end_after_replacement(&mut self, replaced: &[Replaced], session: &mut Session) {
        for Replaced {
            user,
            before,
            removed,
        } in replaced
        {
            if *removed {
                self.end_connections_of(user.name(), session);
            } else {
                self.end_lost_listeners(user, before, session);
            }
        }
    }
}
